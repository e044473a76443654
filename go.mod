module github.com/reprise-go/reprise

go 1.26

require (
	github.com/stretchr/testify v1.12.1 // indirect
	github.com/valyala/fastrand v1.1.0 // indirect
	go.uber.org/atomic v1.12.0 // indirect
)
