module github.com/reprise-go/reprise

go 1.26

require (
	github.com/stretchr/testify v1.12.1
	github.com/valyala/fastrand v1.1.0
	go.uber.org/atomic v1.12.0
	gopkg.in/ini.v1 v1.68.0
)

require (
	github.com/aclements/go-moremath v0.0.0-20210112150236-f10218a38794 // indirect
	go.yaml.in/yaml/v3 v3.0.5 // indirect
	golang.org/x/perf v0.0.0-20250813145418-2f7363a06fe1 // indirect
)

tool golang.org/x/perf/cmd/benchstat
