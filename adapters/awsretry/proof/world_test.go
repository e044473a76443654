package proof_test

import (
	"context"
	"net"
	"net/http"
	"net/http/httptest"
	"sync/atomic"
	"testing"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"
	"github.com/stretchr/testify/require"
	"github.com/truora/minidyn/server"

	"github.com/reprise-go/reprise/adapters/awsretry/proof/faulty"
)

// world is an emulated DynamoDB with a table "t" that holds item "1", behind a
// proxy, on a wire.
type world struct {
	proxy  *faulty.Proxy
	client *http.Client
	url    string
	dial   atomic.Pointer[error] // of the next connection
}

// newWorld makes one that ends with the test. In a bubble of testing/synctest all
// of it runs on the bubble's time.
func newWorld(t testing.TB) *world {
	t.Helper()
	w := onWire(t, server.NewServer())
	seed(t, dynamodb.NewFromConfig(w.config()))
	return w
}

// onWire is a world on a wire, before any service.
func onWire(t testing.TB, service http.Handler) *world {
	t.Helper()
	proxy := faulty.NewProxy(service)
	wire, stop := faulty.Serve(proxy)
	w := &world{proxy: proxy, url: "http://dynamodb.test"}
	transport := &http.Transport{MaxIdleConnsPerHost: 1000, DialContext: func(ctx context.Context, network, address string) (net.Conn, error) {
		if err := w.dial.Swap(nil); err != nil {
			return nil, *err
		}
		return wire.DialContext(ctx, network, address)
	}}
	t.Cleanup(stop)
	t.Cleanup(transport.CloseIdleConnections)
	w.client = &http.Client{Transport: transport}
	return w
}

// onLoopback is a world on 127.0.0.1, in real time, before any service.
func onLoopback(t testing.TB, service http.Handler) *world {
	t.Helper()
	proxy := faulty.NewProxy(service)
	front := httptest.NewServer(proxy)
	t.Cleanup(front.Close)
	transport := &http.Transport{}
	t.Cleanup(transport.CloseIdleConnections)
	return &world{proxy: proxy, url: front.URL, client: &http.Client{Transport: transport}}
}

// config is what config.LoadDefaultConfig would make for this world.
func (w *world) config() aws.Config {
	return aws.Config{
		Region:       "us-east-1",
		BaseEndpoint: aws.String(w.url),
		HTTPClient:   w.client,
		Credentials: aws.CredentialsProviderFunc(func(context.Context) (aws.Credentials, error) {
			return aws.Credentials{AccessKeyID: "id", SecretAccessKey: "secret"}, nil
		}),
	}
}

// seed makes the table and its item.
func seed(t testing.TB, client *dynamodb.Client) {
	t.Helper()
	ctx := context.Background()
	_, err := client.CreateTable(ctx, &dynamodb.CreateTableInput{
		TableName:            aws.String("t"),
		BillingMode:          types.BillingModePayPerRequest,
		AttributeDefinitions: []types.AttributeDefinition{{AttributeName: aws.String("id"), AttributeType: types.ScalarAttributeTypeS}},
		KeySchema:            []types.KeySchemaElement{{AttributeName: aws.String("id"), KeyType: types.KeyTypeHash}},
	})
	require.NoError(t, err)
	_, err = client.PutItem(ctx, &dynamodb.PutItemInput{TableName: aws.String("t"), Item: keyed("1")})
	require.NoError(t, err)
}

func keyed(id string) map[string]types.AttributeValue {
	return map[string]types.AttributeValue{"id": &types.AttributeValueMemberS{Value: id}}
}

// get reads the item.
func get(ctx context.Context, client *dynamodb.Client, opts ...func(*dynamodb.Options)) (*dynamodb.GetItemOutput, error) {
	return client.GetItem(ctx, &dynamodb.GetItemInput{TableName: aws.String("t"), Key: keyed("1")}, opts...)
}

// gaps are the times between the requests, but for the nanosecond that the proxy
// takes.
func gaps(seen []faulty.Request) (between []time.Duration) {
	for i := 1; i < len(seen); i++ {
		between = append(between, seen[i].At.Sub(seen[i-1].At).Round(time.Microsecond))
	}
	return between
}
