module github.com/reprise-go/reprise/cmd/reprise

go 1.26.0

replace github.com/reprise-go/reprise => ../..

require (
	github.com/reprise-go/reprise v0.0.0-00010101000000-000000000000
	github.com/stretchr/testify v1.12.1
)

require (
	go.uber.org/atomic v1.12.0 // indirect
	go.yaml.in/yaml/v3 v3.0.5 // indirect
)
