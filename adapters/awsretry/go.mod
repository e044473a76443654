module github.com/reprise-go/reprise/adapters/awsretry

go 1.26

replace github.com/reprise-go/reprise => ../..

require (
	github.com/aws/aws-sdk-go-v2 v1.48.0
	github.com/aws/smithy-go v1.28.9
	github.com/reprise-go/reprise v0.0.0
	github.com/stretchr/testify v1.12.1
)

require (
	github.com/valyala/fastrand v1.1.0 // indirect
	go.uber.org/atomic v1.12.0 // indirect
	go.yaml.in/yaml/v3 v3.0.5 // indirect
	gopkg.in/ini.v1 v1.68.0 // indirect
)
