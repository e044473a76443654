module github.com/reprise-go/reprise/examples/fasthttp

go 1.26.0

require (
	github.com/reprise-go/reprise v0.0.0
	github.com/reprise-go/reprise/adapters/fasthttpretry v0.0.0
	github.com/stretchr/testify v1.12.1
	github.com/valyala/fasthttp v1.78.0
)

require (
	github.com/klauspost/compress v1.20.3 // indirect
	github.com/molecule-man/go-brrr v1.3.1 // indirect
	github.com/valyala/bytebufferpool v1.0.0 // indirect
	github.com/valyala/fastrand v1.1.0 // indirect
	go.uber.org/atomic v1.12.0 // indirect
	go.yaml.in/yaml/v3 v3.0.5 // indirect
)

replace github.com/reprise-go/reprise => ../..

replace github.com/reprise-go/reprise/adapters/fasthttpretry => ../../adapters/fasthttpretry
