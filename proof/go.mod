module github.com/reprise-go/reprise/proof

go 1.26

require (
	github.com/reprise-go/reprise v0.0.0
	github.com/stretchr/testify v1.12.1
	go.uber.org/atomic v1.12.0
	go.uber.org/goleak v1.3.0
)

require (
	github.com/valyala/fastrand v1.1.0 // indirect
	go.yaml.in/yaml/v3 v3.0.5 // indirect
)

replace github.com/reprise-go/reprise => ../
