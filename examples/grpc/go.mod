module github.com/reprise-go/reprise/examples/grpc

go 1.26.0

require (
	github.com/reprise-go/reprise v0.0.0
	github.com/reprise-go/reprise/adapters/grpcretry v0.0.0
	github.com/stretchr/testify v1.12.1
	google.golang.org/grpc v1.85.0
)

require (
	github.com/valyala/fastrand v1.1.0 // indirect
	go.uber.org/atomic v1.12.0 // indirect
	go.yaml.in/yaml/v3 v3.0.5 // indirect
	golang.org/x/net v0.60.0 // indirect
	golang.org/x/sys v0.48.0 // indirect
	golang.org/x/text v0.42.0 // indirect
	google.golang.org/genproto/googleapis/rpc v0.0.0-20260817212433-ac3dfec99bb1 // indirect
	google.golang.org/protobuf v1.36.12 // indirect
)

replace github.com/reprise-go/reprise => ../..

replace github.com/reprise-go/reprise/adapters/grpcretry => ../../adapters/grpcretry
