package scenario

import (
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
)

func TestCheckService(t *testing.T) {
	for _, id := range []string{"dynamodb", "DynamoDB", "DynamoDB Streams", "dynamodb-streams", "sqs", "s3", "dax", "docdb", "Rekognition", "EC2 Instance Connect"} {
		assert.NoError(t, CheckService(id), id)
	}
	for _, id := range []string{"dynamo", "dinamodb", "dynamobd", "dynamdb", "dynamodbstream", "dynamodb.eu", "AmazonDynamoDB"} {
		assert.ErrorContains(t, CheckService(id), "dynamodb", id)
	}
	for _, id := range []string{"", " ", "-", "sqs!", "s\x1b3", "über", strings.Repeat("x", 50) + "."} {
		assert.ErrorContains(t, CheckService(id), "want an AWS service id", id)
	}
}

func TestDistance(t *testing.T) {
	for pair, want := range map[[2]string]int{
		{"", ""}: 0, {"", "abc"}: 3, {"abc", ""}: 3, {"abc", "abc"}: 0, {"abc", "axc"}: 1, {"ab", "abc"}: 1, {"abc", "bc"}: 1, {"ab", "ba"}: 2,
	} {
		assert.Equal(t, want, Distance(pair[0], pair[1]), pair)
	}
}
