package whole

import (
	"context"
	"errors"
	"io"
	"net/http"
	"strings"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/aws/retry"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"

	"github.com/reprise-go/reprise/adapters/awsretry"
	"github.com/reprise-go/reprise/engine"
)

// Program is one call of a program; it is safe for use by many goroutines.
type Program func(context.Context) error

// getItems are the programs that read an item, by the retryer in them.
var getItems = []struct {
	impl string
	make func(table http.RoundTripper) (Program, error)
}{
	{"no-retryer", sdk(func() aws.Retryer { return aws.NopRetryer{} })},
	{"aws-standard", sdk(func() aws.Retryer { return retry.NewStandard() })},
	{"aws-adaptive", sdk(func() aws.Retryer { return retry.NewAdaptiveMode() })},
	{"reprise-standard", reprise(engine.Standard)},
	{"reprise-adaptive", reprise(engine.Adaptive)},
}

func config(table http.RoundTripper) aws.Config {
	return aws.Config{
		Region:     "eu-west-1",
		HTTPClient: &http.Client{Transport: table},
		Credentials: aws.CredentialsProviderFunc(func(context.Context) (aws.Credentials, error) {
			return aws.Credentials{AccessKeyID: "AKID", SecretAccessKey: "SECRET"}, nil
		}),
	}
}

// sdk is the SDK's own loop; the client shares one retryer, as it does by default.
func sdk(retryer func() aws.Retryer) func(http.RoundTripper) (Program, error) {
	return func(table http.RoundTripper) (Program, error) {
		cfg, r := config(table), retryer()
		cfg.Retryer = func() aws.Retryer { return r }
		return getItem(cfg), nil
	}
}

func reprise(mode engine.Mode) func(http.RoundTripper) (Program, error) {
	return func(table http.RoundTripper) (Program, error) {
		e, err := engine.New(engine.WithMode(mode))
		if err != nil {
			return nil, err
		}
		cfg := config(table)
		if err := awsretry.Apply(&cfg, e); err != nil {
			return nil, err
		}
		return getItem(cfg), nil
	}
}

var errNoItem = errors.New("the item is not what the table holds")

func getItem(cfg aws.Config) Program {
	client := dynamodb.NewFromConfig(cfg)
	input := &dynamodb.GetItemInput{
		TableName: aws.String("accounts"),
		Key:       map[string]types.AttributeValue{"id": &types.AttributeValueMemberS{Value: "7"}},
	}
	return func(ctx context.Context) error {
		out, err := client.GetItem(ctx, input)
		if err != nil {
			return err
		}
		if name, ok := out.Item["name"].(*types.AttributeValueMemberS); !ok || name.Value != "Ada" {
			return errNoItem
		}
		return nil
	}
}

// table is DynamoDB without a network.
type table struct{}

const item = `{"Item":{"id":{"S":"7"},"name":{"S":"Ada"}}}`

func (table) RoundTrip(req *http.Request) (*http.Response, error) {
	if req.Body != nil {
		req.Body.Close()
	}
	return &http.Response{
		StatusCode: http.StatusOK, Proto: "HTTP/1.1", ProtoMajor: 1, ProtoMinor: 1,
		Header:        http.Header{"Content-Type": {"application/x-amz-json-1.0"}},
		Body:          io.NopCloser(strings.NewReader(item)),
		ContentLength: int64(len(item)), Request: req,
	}, nil
}
