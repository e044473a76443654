package main

import (
	"context"
	"io"
	"math/rand/v2"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"
	"github.com/truora/minidyn/server"
)

const tableName = "orders"

// The server fails some reads; while the middle third of the calls is made it throttles most.
const (
	failing    = 0.15
	throttling = 0.8
	latency    = 2 * time.Millisecond
)

// phase is a third of the calls.
type phase int

const (
	before phase = iota
	throttled
	after
	phases
)

// faulty is an emulated DynamoDB on 127.0.0.1 that makes trouble.
type faulty struct {
	dynamo   http.Handler
	front    *httptest.Server
	client   *http.Client
	mu       sync.Mutex
	now      phase
	draws    *rand.Rand
	requests int // reads on the wire
	rejected int // of those, throttled
}

func startServer() *faulty {
	s := &faulty{dynamo: server.NewServer(), draws: rand.New(rand.NewPCG(1, 2))}
	s.front = httptest.NewServer(s)
	s.client = &http.Client{Transport: &http.Transport{MaxIdleConnsPerHost: 100}}
	return s
}

func (s *faulty) stop() {
	s.client.CloseIdleConnections()
	s.front.Close()
}

// config is what config.LoadDefaultConfig returns in a real program.
func (s *faulty) config() aws.Config {
	return aws.Config{
		Region: "us-east-1", BaseEndpoint: aws.String(s.front.URL), HTTPClient: s.client,
		Credentials: aws.CredentialsProviderFunc(func(context.Context) (aws.Credentials, error) {
			return aws.Credentials{AccessKeyID: "id", SecretAccessKey: "secret"}, nil
		}),
	}
}

// enter begins a phase.
func (s *faulty) enter(p phase) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.now = p
}

// counts are of reads on the wire, and of those that were throttled. A server may
// still be at work for a client that has gone.
func (s *faulty) counts() (requests, rejected int) {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.requests, s.rejected
}

// ServeHTTP answers a request; trouble is for reads alone.
func (s *faulty) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	if !strings.HasSuffix(r.Header.Get("X-Amz-Target"), ".GetItem") {
		s.dynamo.ServeHTTP(w, r)
		return
	}
	time.Sleep(latency)
	switch status, code := s.trouble(); status {
	case http.StatusOK:
		s.dynamo.ServeHTTP(w, r)
	default:
		w.Header().Set("Content-Type", "application/x-amz-json-1.0")
		w.WriteHeader(status)
		_, _ = io.WriteString(w, `{"__type":"com.amazonaws.dynamodb.v20120810#`+code+`","message":"on purpose"}`)
	}
}

func (s *faulty) trouble() (status int, code string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.requests++
	first, second := s.draws.Float64(), s.draws.Float64()
	if s.now == throttled && first < throttling {
		s.rejected++
		return http.StatusBadRequest, "ProvisionedThroughputExceededException"
	}
	if second < failing {
		return http.StatusInternalServerError, "InternalServerError"
	}
	return http.StatusOK, ""
}

// fill makes the table and its item.
func fill(ctx context.Context, client *dynamodb.Client) error {
	_, err := client.CreateTable(ctx, &dynamodb.CreateTableInput{
		TableName:            aws.String(tableName),
		BillingMode:          types.BillingModePayPerRequest,
		AttributeDefinitions: []types.AttributeDefinition{{AttributeName: aws.String("id"), AttributeType: types.ScalarAttributeTypeS}},
		KeySchema:            []types.KeySchemaElement{{AttributeName: aws.String("id"), KeyType: types.KeyTypeHash}},
	})
	if err != nil {
		return err
	}
	_, err = client.PutItem(ctx, &dynamodb.PutItemInput{TableName: aws.String(tableName), Item: item()})
	return err
}

func item() map[string]types.AttributeValue {
	return map[string]types.AttributeValue{"id": &types.AttributeValueMemberS{Value: "1"}}
}
