module github.com/reprise-go/reprise

go 1.26

require (
	github.com/stretchr/testify v1.12.1
	github.com/valyala/fastrand v1.1.0
	go.uber.org/atomic v1.12.0
)

require go.yaml.in/yaml/v3 v3.0.5 // indirect
