package scenario

import (
	"fmt"
	"slices"
	"strings"
)

// services are AWS service ids as the engine compares them: in lower case,
// without blanks and dashes. The engine takes any id; a file or a command line
// with a typing mistake in it would get the general settings without a word.
var services = strings.Fields(`
	acm apigateway apigatewaymanagementapi appconfig appconfigdata appsync athena autoscaling
	backup batch bedrock bedrockruntime cloudformation cloudfront cloudtrail cloudwatch
	cloudwatchlogs codebuild cognitoidentity cognitoidentityprovider configservice costexplorer
	dax dynamodb dynamodbstreams ec2 ecr ecs efs eks elasticache elasticloadbalancing
	elasticloadbalancingv2 emr eventbridge firehose glacier glue iam iot iotdataplane kafka kinesis
	kinesisanalytics kms lambda neptune opensearch organizations pinpoint pipes rds rdsdata redshift
	redshiftdata route53 s3 s3control sagemaker sagemakerruntime scheduler secretsmanager
	servicediscovery ses sesv2 sfn sns sqs ssm sso ssooidc sts swf textract timestreamquery
	timestreamwrite transcribe translate wafv2 xray`)

// CheckService returns an error if id is not the id of an AWS service.
func CheckService(id string) error {
	plain := strings.NewReplacer(" ", "", "-", "", "_", "").Replace(strings.ToLower(id))
	if slices.Contains(services, plain) {
		return nil
	}
	return fmt.Errorf("unknown service %q: want an AWS service id; dynamodb and dynamodbstreams have settings of their own, all others the general ones", Shorten(id))
}
