module github.com/reprise-go/reprise/proof/linear

go 1.26

replace github.com/reprise-go/reprise => ../../

require (
	github.com/anishathalye/porcupine v1.3.1
	github.com/reprise-go/reprise v0.0.0-00010101000000-000000000000
	github.com/stretchr/testify v1.12.1
	go.uber.org/atomic v1.12.0
	pgregory.net/rapid v1.3.0
)

require (
	github.com/valyala/fastrand v1.1.0 // indirect
	go.yaml.in/yaml/v3 v3.0.5 // indirect
)
