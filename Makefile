# What the project does with itself. CI (.ci/run) calls nothing but these targets, so the flags live here.
# A line of two number signs heads the targets below it in make help.
# Each loop covers every module (every go.mod) under this folder: a new one needs no line here.

# But for this one, whose dependencies alone take minutes to build: test-caddy does for it what test and lint do for the
# others, in checks and so in ci.
CADDY     := ./adapters/caddyretry
MODULES   := $(filter-out $(CADDY),$(sort $(patsubst %/go.mod,%,$(shell find . -name go.mod))))
CORE      := ./atomicbucket ./fastbackoff ./classify ./ratelimit ./engine ./settings ./internal/...
FUZZTIME  ?= 10s
FUZZ      ?= ^Fuzz
BENCHTIME ?= 50ms
COUNT     ?= 6
WHOLE     ?= 10
PROCS     ?= 1,2
CALLS     ?= 3000
VIRTUAL   ?= 30s
SOAK      ?= 10m
STEPS     ?= 100000000
SEED      ?= 1
VECTORS   := testdata/vectors
UPSTREAM  ?= ../shared/vectors

# $(call each,COMMAND) runs COMMAND in the folder of every module and stops at the first failure.
each = @set -e; for m in $(MODULES); do echo "== $$m: $(1)"; (cd $$m && $(1)); done

# $(BUILDS) vets and compiles a module with its tests for other processors.
BUILDS := for arch in 386 arm64; do export GOARCH=$$arch CGO_ENABLED=0; go vet ./... && go list -test -export -f '{{.Export}}' ./... >/dev/null || exit 1; done

.PHONY: help test lint vectors ci checks demo dynamo dynamo-throttle dynamo-throttle-virtual race loom fuzz linear \
	mutants differential-long soak million million-race demo-check portable 386 arm64 cross test-caddy cross-caddy bench \
	bench-ratios bench-full bench-whole door-cost instructions scaling adaptive-table storm-charts servers emulator \
	bin/reprise bin/sidebyside bin/tools

## Every day

help: ## this list (the default)
	@awk -F ':.*## ' '/^## / {print gap substr($$0, 4); gap = "\n"} /^[a-z0-9-]+:.*## / {n = split($$2, words, " "); line = sprintf("make %-23s", $$1); \
	for (i = 1; i <= n; i++) {if (length(line words[i]) > 78) {print line; line = sprintf("%28s", "")} line = line " " words[i]} print line}' $(MAKEFILE_LIST)

test: servers ## every test of every module: under the race detector (hammers cut short), then without it, at full size; then loom
	@# A program with the race detector sleeps for a second as it ends: 70 packages' tests, and each child that they start.
	$(call each,GORACE=atexit_sleep_ms=50 go test -race -short -count=1 -timeout 5m ./...)
	$(call each,go test -count=1 -timeout 5m ./...)
	$(MAKE) --no-print-directory loom

lint: bin/tools ## gofmt, go vet, staticcheck, go mod tidy -diff; the core is vetted for other systems too
	@files=$$(gofmt -l .) && test -z "$$files" || { echo "gofmt -w wanted by:"; echo "$$files"; exit 1; }
	$(call each,go mod tidy -diff)
	$(call each,go vet ./...)
	$(call each,$(CURDIR)/bin/staticcheck ./...)
	go vet -tags reprise_loom ./...
	GOOS=windows GOARCH=386 go vet ./...
	GOOS=darwin GOARCH=arm64 go vet ./...

vectors: bin/reprise ## replay the published cases; compare our copy with the original where that is at hand (UPSTREAM)
	@if test -d $(UPSTREAM); then diff -r $(UPSTREAM) $(VECTORS) && echo "$(VECTORS) equals $(UPSTREAM)"; \
	else echo "no folder $(UPSTREAM): $(VECTORS) was not compared with it"; fi
	bin/reprise replay -q $(VECTORS)/standard.json $(VECTORS)/retry_after.json $(VECTORS)/adaptive.json

ci: test checks ## all that must hold before a change goes in: test and checks

checks: lint vectors demo-check test-caddy cross portable 386 million-race ## what ci does beside the tests
	@# A count and not a time: when the time is up, go test may report "context deadline exceeded" (go.dev/issue/75804).
	$(MAKE) --no-print-directory fuzz FUZZTIME=10000x
	$(MAKE) --no-print-directory instructions

## To see it work

demo: bin/reprise ## the engine retries real HTTP calls to a faulty server (ARGS= for drive's flags)
	bin/reprise drive $(ARGS)

dynamo: ## a DynamoDB client with 50 ms for each call: the engine beside the SDK's own retryer, on the same faults
	go run -C examples/dynamodb . $(ARGS)

dynamo-throttle: ## the SDK's modes and ours before a DynamoDB that takes 1000 requests/s, 30 s each (ARGS="-time 5s")
	go run -C adapters/awsretry/proof ./throttle $(ARGS)

dynamo-throttle-virtual: ## the same in virtual time (VIRTUAL, 30s), where the machine slows nobody down
	@go test -C adapters/awsretry/proof ./throttle -count=1 -run TestVirtual -v -args -virtual $(VIRTUAL)

## Proofs, beside the tests

race: servers ## every test at full size under the race detector
	$(call each,go test -race -count=1 -timeout 30m ./...)

loom: ## the core's lock-free code in every order of two goroutines and of three; the cache lines of each path (V=-v)
	go test -tags reprise_loom -count=1 -timeout 5m -run Loom $(V) ./atomicbucket ./internal/stripe ./ratelimit ./engine
	go test -C proof -tags reprise_loom -count=1 -timeout 5m $(V) ./lines

fuzz: ## each fuzz target in turn, or those that FUZZ matches, for FUZZTIME (10s; 5000x is a count of inputs)
	@set -e; for m in $(MODULES); do cd $(CURDIR)/$$m; packages=$$(go list -f '{{$$p := .}}{{range .TestGoFiles}}{{$$p.Dir}}/{{.}} {{end}}{{range .XTestGoFiles}}{{$$p.Dir}}/{{.}} {{end}}' ./... | xargs -r grep -l '^func Fuzz' | xargs -r -n 1 dirname | sort -u); \
	for p in $$packages; do words=$$(go test -list '$(FUZZ)' $$p); for f in $$words; do case $$f in Fuzz*) \
	echo "== $${p#$(CURDIR)/} $$f"; go test -run '^$$' -fuzz "^$$f\$$" -fuzztime $(FUZZTIME) $$p;; esac; done; done; done

linear: ## parallel histories and random state machines against plain models (V=-v tells how many overlapped)
	go test -C proof/linear -count=1 $(V) .

mutants: bin/tools ## plant small faults, one at a time, and show that the tests catch each (ARGS="-json", "-run bucket", "-list")
	@bin/mutants $(ARGS)

differential-long: ## the SDK's retryers beside the engine for STEPS attempts (10^8, half an hour), from SEED (1) on
	go test -C proof/differential -count=1 -timeout 12h -run 'TestDifferential$$' -v . -args -steps $(STEPS) -seed $(SEED)

soak: ## an engine at full rate for SOAK (10m): level, memory and goroutines flat; then with faults in the machine
	go run -C proof ./soak -for $(SOAK)
	go run -C proof ./soak -for $(SOAK) -faults

million: ## a million calls in flight at once, a million goroutines asleep in Do (ARGS="-calls 100000 -asleep 100000")
	go run -C proof ./million $(ARGS)

million-race: ## a hundred thousand of each under the race detector
	go test -C proof -race -count=1 -timeout 15m ./million -args -calls 100000

demo-check: bin/reprise bin/tools ## a short demo (CALLS, 3000), whose report must show the quota drain and come back
	bin/reprise drive --calls $(CALLS) --json >bin/demo.json
	bin/jsoncheck bin/demo.json calls=$(CALLS) 'attempts>calls' 'successes>0' 'retries.total>0' 'stops.total>0' \
		'quota.lowest<14' 'quota.last>quota.lowest'

## Other builds and processors

portable: ## the core's tests without go:linkname, as other compilers and the build tag reprise_portable have it
	go vet -tags reprise_portable $(CORE)
	go test -tags reprise_portable -short -count=1 $(CORE)

386: ## the core's tests as 32-bit programs, which an amd64 machine runs itself
	GOARCH=386 CGO_ENABLED=0 go test -short -count=1 $(CORE)

arm64: emulator ## the core's tests on an emulated arm64, but for one that runs itself as a child
	GOARCH=arm64 CGO_ENABLED=0 go test -short -count=1 -timeout 30m -exec qemu-aarch64-static -skip TestProcessesDrawDifferently $(CORE)

cross: ## vet and compile every module with its tests for 386 and arm64, but for the Caddy transport
	$(call each,$(BUILDS))

test-caddy: bin/tools ## test and lint for the Caddy transport: builds a whole Caddy, once (RACE=-race: another), and runs it
	cd $(CADDY) && go mod tidy -diff
	cd $(CADDY) && go vet ./...
	cd $(CADDY) && $(CURDIR)/bin/staticcheck ./...
	cd $(CADDY) && go test $(RACE) -count=1 -timeout 5m ./...

cross-caddy: ## the same for the Caddy transport, which takes minutes
	cd $(CADDY) && $(BUILDS)

## Measurements

bench: ## the benchmarks beside the code on 1 and 2 processors (PROCS), and the peers', in COUNT rounds (6), through benchstat
	@mkdir -p bin; : >bin/bench.txt
	@set -e; for round in $$(seq $(COUNT)); do for m in $(MODULES); do echo "== round $$round of $(COUNT): $$m"; \
	case $$m in ./bench) what="-bench /././procs=[12]$$";; *) what="-bench . -cpu $(PROCS)";; esac; \
	(cd $$m && go test -run '^$$' $$what -benchmem -benchtime $(BENCHTIME) ./...) >>bin/bench.txt || { tail -20 bin/bench.txt; exit 1; }; done; done
	go tool benchstat bin/bench.txt

bench-ratios: bin/sidebyside ## how many times faster than its peers the engine is, a line a ratio, in a minute (ARGS="-json FILE", "jitter")
	@bin/sidebyside ratios $(ARGS)

bench-full: bin/sidebyside ## every path, peer and 1 to 8 processors in interleaved passes: benchstat, bench/RESULTS.md, a page with charts
	@status=0; bin/sidebyside full $(ARGS) || status=$$?; \
	go tool benchstat -col /impl -row /path,/procs bin/bench-full.txt && exit $$status

bench-whole: ## what each library's retries add to a GetItem, a GET and the heap, in WHOLE rounds (10)
	@mkdir -p bin; : >bin/whole.txt
	@go test -C bench/whole -c -o $(CURDIR)/bin/whole.test .
	@set -e; for round in $$(seq $(WHOLE)); do echo "== round $$round of $(WHOLE)"; \
	bin/whole.test -test.run '^$$' -test.bench . -test.benchtime $(BENCHTIME) >>bin/whole.txt || { tail -20 bin/whole.txt; exit 1; }; done
	@go tool benchstat -filter '/path:getitem .unit:(sec/op OR allocs/op)' -col '/impl@(no-retryer aws-standard aws-adaptive reprise-standard reprise-adaptive)' -row /path,/procs bin/whole.txt
	@go tool benchstat -filter '/path:get .unit:(sec/op OR allocs/op)' -col '/impl@(net-http retryablehttp failsafe-go reprise)' -row /path,/procs bin/whole.txt
	@go run -C bench/whole ./table <bin/whole.txt

door-cost: servers ## what a door adds to a request of a healthy upstream, beside the bare client (ARGS="--json", "-blocks 4")
	@go build -C proof/upstreams -o $(CURDIR)/bin/doorcost ./doorcost
	bin/doorcost $(ARGS)

instructions: ## count the hot paths' instructions under callgrind; fails if one has grown (ARGS='-update -reason "why"')
	@.ci/servers valgrind:valgrind
	@CGO_ENABLED=0 go build -C proof -o $(CURDIR)/bin/instructions ./instructions
	@cd proof/instructions && $(CURDIR)/bin/instructions $(ARGS)

scaling: ## what each path writes to shared cache lines, and by a model what 16 to 128 cores make of it (ARGS="-transfer 100")
	@go build -C proof -o $(CURDIR)/bin/lines ./lines
	@cd proof/lines && $(CURDIR)/bin/lines $(ARGS)

## Files of this repository that a command makes

adaptive-table: ## what adaptive clients use of a throttled service, R8 and ours: proof/adaptive/TABLE.md (some minutes)
	@mkdir -p bin
	go run -C proof ./adaptive >bin/adaptive.md && mv bin/adaptive.md proof/adaptive/TABLE.md

storm-charts: bin/reprise ## the two charts of README.md, which a test holds against the simulator
	bin/reprise storm metastable --policies none,naive,envoy,standard -q --svg bin/storm-charts
	cp bin/storm-charts/load.svg docs/storm/load.svg
	cp bin/storm-charts/goodput.svg docs/storm/goodput.svg

## Programs that the above want, by apt-get where they are missing

servers: ## the servers and wrk that tests put the doors before, Prometheus, Chromium
	@.ci/servers

emulator: ## qemu for make arm64 (Debian's qemu-user-static)
	@.ci/servers qemu-aarch64-static:qemu-user-static

# Programs that the targets above run.

bin/reprise:
	go build -C cmd/reprise -o $(CURDIR)/bin/reprise .

bin/sidebyside:
	@mkdir -p bin
	@go build -C bench -o $(CURDIR)/bin/sidebyside ./sidebyside

bin/tools:
	go build -C tools -o $(CURDIR)/bin/ tool
