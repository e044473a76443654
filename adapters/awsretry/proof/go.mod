module github.com/reprise-go/reprise/adapters/awsretry/proof

go 1.26.0

require (
	github.com/aws/aws-sdk-go-v2 v1.48.0
	github.com/aws/aws-sdk-go-v2/service/dynamodb v1.74.0
	github.com/aws/aws-sdk-go-v2/service/sqs v1.53.0
	github.com/aws/smithy-go v1.28.9
	github.com/reprise-go/reprise v0.0.0
	github.com/reprise-go/reprise/adapters/awsretry v0.0.0-00010101000000-000000000000
	github.com/reprise-go/reprise/adapters/awsretry/dynamoretry v0.0.0-00010101000000-000000000000
	github.com/sivchari/kumo v0.33.1
	github.com/stretchr/testify v1.12.1
	github.com/truora/minidyn v0.8.2
)

require (
	github.com/aws/aws-sdk-go-v2/internal/configsources v1.5.12 // indirect
	github.com/aws/aws-sdk-go-v2/internal/endpoints/v2 v2.8.12 // indirect
	github.com/aws/aws-sdk-go-v2/service/internal/accept-encoding v1.13.25 // indirect
	github.com/aws/aws-sdk-go-v2/service/internal/endpoint-discovery v1.13.12 // indirect
	github.com/cedar-policy/cedar-go v1.8.0 // indirect
	github.com/fxamacker/cbor/v2 v2.9.0 // indirect
	github.com/google/uuid v1.6.0 // indirect
	github.com/valyala/fastrand v1.1.0 // indirect
	github.com/x448/float16 v0.8.4 // indirect
	go.uber.org/atomic v1.12.0 // indirect
	go.yaml.in/yaml/v3 v3.0.5 // indirect
	golang.org/x/crypto v0.48.0 // indirect
	golang.org/x/exp v0.0.0-20220921023135-46d9e7742f1e // indirect
	golang.org/x/sys v0.42.0 // indirect
	gopkg.in/ini.v1 v1.68.0 // indirect
)

replace github.com/reprise-go/reprise => ../../..

replace github.com/reprise-go/reprise/adapters/awsretry => ../

replace github.com/reprise-go/reprise/adapters/awsretry/dynamoretry => ../dynamoretry
