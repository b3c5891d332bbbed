# Every target that a developer needs; `make` alone lists them.
.DEFAULT_GOAL := help
.DELETE_ON_ERROR:

# make demo ONCE=1 ends after the tour instead of staying up.
ONCE ?=
# The folder of scenarios to play, seen from where you are.
SCENARIOS ?= test/scenarios
# Packages tested at once. Each package of API-server tests starts a control plane of
# its own, and waits half of its time.
TEST_PARALLEL ?= 3
TEST_TIMEOUT ?= 20m
# The package pattern for make test, such as PKG=./mesh/... The first waits most, for seconds in which objects are created, and so
# leaves the processors to the others.
PKG ?= ./test/scenarios/runner ./...

# What the image is called, and what is stamped into it.
IMAGE ?= gammaguard-webhook:dev
VERSION ?= $(shell git describe --tags --always --dirty 2>/dev/null)
VERSION := $(VERSION)
COMMIT ?= $(shell git rev-parse --short=12 HEAD 2>/dev/null)
COMMIT := $(COMMIT)

# What all is compiled with, so that programs and tests share the packages of their
# dependencies. make vet runs all of go vet, of which go test would repeat a part each time.
export CGO_ENABLED := 0
export GOFLAGS := $(strip $(GOFLAGS) -trimpath -vet=off)

LDFLAGS = -s -w -X github.com/gammaguard/gammaguard/internal/version.release=$(VERSION) -X github.com/gammaguard/gammaguard/internal/version.commit=$(COMMIT)
# What a release is built for, what its manifests call the webhook's image, and where its
# files will be found.
PLATFORMS ?= linux/amd64 linux/arm64 darwin/amd64 darwin/arm64 windows/amd64
IMAGE_NAME ?= gammaguard-webhook
DOWNLOADS ?= https://github.com/gammaguard/gammaguard/releases/download/$(VERSION)
# What a release is signed with: a PEM file, or the URI of a key in a KMS; and who builds, as a URI.
KEY ?=
RELEASE_KEY = -key '$(if $(findstring ://,$(KEY)),$(KEY),$(abspath $(KEY)))'
BUILDER ?=
# What make push pushes.
ARCHIVE ?= dist/gammaguard-webhook.tar

CACHE := $(CURDIR)/.cache
GOLANGCI_LINT := $(CACHE)/tools/golangci-lint
GOVULNCHECK := $(CACHE)/tools/govulncheck
DEFINITIONS := internal/definitions/generated/made
# The folder of every Go module in the repository.
MODULES = $(patsubst %/,%,$(dir $(shell git ls-files --cached --others --exclude-standard -- go.mod '*/go.mod')))

.PHONY: help
help: ## List the targets.
	@awk 'BEGIN {FS = ":.*## "; print "make <target>\n"} \
		/^[a-z-]+:.*## / {printf "  %-13s %s\n", $$1, $$2} \
		/^##@ / {printf "\n%s\n", substr($$0, 5)}' $(MAKEFILE_LIST)

##@ Use
.PHONY: demo
demo: definitions ## Start a real API server with gammaguard and play a tour; ONCE=1 ends after it.
	@mkdir -p $(CACHE)/bin
	go build -o $(CACHE)/bin/demo ./test/demo
	@ONCE=$(ONCE) exec $(CACHE)/bin/demo # go run would call an interrupt an error

.PHONY: build
build: definitions ## Build gammaguard-webhook and gammaguard into bin/.
	go build -o bin/ ./cmd/...

# Where the playground is made.
PLAYGROUND ?= dist/playground
.PHONY: playground
playground: ## Make the page dist/playground/index.html: check, trace, and diff in a browser.
	@mkdir -p '$(PLAYGROUND)'
	GOOS=js GOARCH=wasm go build -buildvcs=false -ldflags "-s -w" -o '$(PLAYGROUND)/gammaguard.wasm' ./examples/playground
	go run ./examples/playground -program '$(PLAYGROUND)/gammaguard.wasm' -loader "$$(go env GOROOT)/lib/wasm/wasm_exec.js" -o '$(PLAYGROUND)/index.html'
	@rm '$(PLAYGROUND)/gammaguard.wasm'

.PHONY: image
image: definitions ## Make the webhook's image, the OCI archive dist/gammaguard-webhook.tar, without Docker.
	@mkdir -p dist
	go build -ldflags "$(LDFLAGS)" -o dist/gammaguard-webhook ./cmd/gammaguard-webhook
	cd tools/release && GOWORK=off go run ./image -binary ../../dist/gammaguard-webhook -name "$(IMAGE)" \
		-version "$(VERSION)" -revision "$(COMMIT)" -o ../../dist/gammaguard-webhook.tar

.PHONY: release
release: definitions ## Make the files of a release in dist/release, without Docker: VERSION=v1.2.3 IMAGE_NAME=registry.example.com/gammaguard-webhook KEY=release.key.
	@echo '$(VERSION)' | grep -Eq '^v[0-9]+\.[0-9]+\.[0-9]+' || { echo 'error: VERSION=$(VERSION): want a version such as v1.2.3' >&2; exit 2; }
	@changed="$$(git status --porcelain)"; if [ -n "$$changed" ] && [ -z '$(UNCOMMITTED_FOR_TESTS)' ]; then \
		echo 'error: a release is made of a commit, and these files are not committed:' >&2; echo "$$changed" >&2; exit 2; fi
	@cd tools/release && GOWORK=off go run . -check -version '$(VERSION)' $(RELEASE_KEY)
	@rm -rf dist/build
	@set -e; for platform in $(PLATFORMS); do \
		folder=dist/build/$${platform%/*}-$${platform#*/} programs=./cmd/gammaguard; \
		case $$platform in linux/*) programs=./cmd/...;; esac; \
		echo "building for $$platform"; mkdir -p $$folder; \
		GOOS=$${platform%/*} GOARCH=$${platform#*/} go build -buildvcs=false \
			-ldflags "$(LDFLAGS)" -o $$folder/ $$programs; \
	done
	cd tools/release && GOWORK=off go run . -version '$(VERSION)' -revision "$$(git rev-parse HEAD)" -image '$(IMAGE_NAME)' \
		-downloads '$(DOWNLOADS)' -root ../.. -built ../../dist/build -out ../../dist/release \
		-date "$$(git log -1 --format=%cI)" $(if $(BUILDER),-builder '$(BUILDER)') $(RELEASE_KEY)
	@ls dist/release

.PHONY: push
push: ## Push an OCI archive to a registry: IMAGE=registry.example.com/gammaguard-webhook:v1.2.3, and ARCHIVE=FILE for one of a release.
	@test '$(origin IMAGE)' != file || { echo 'error: IMAGE: want a name in your registry, such as registry.example.com/gammaguard-webhook:v1.2.3' >&2; exit 2; }
	cd tools/release && GOWORK=off go run ./push -archive '$(abspath $(ARCHIVE))' -image '$(IMAGE)'

.PHONY: cluster-up
cluster-up: ## Start a real single-node cluster; needs root and Linux.
	go run ./test/node/cluster up

.PHONY: cluster-down
cluster-down: ## Stop it.
	go run ./test/node/cluster down

##@ Check
.PHONY: test
test: definitions controlplane ## Run every test, those with a real API server included.
	go test -p $(TEST_PARALLEL) -timeout $(TEST_TIMEOUT) $(PKG)
	cd tools/release && GOWORK=off go test ./...

.PHONY: vet
vet: definitions ## Run go vet, on the tests of make e2e too.
	go vet -tags e2e ./...
	cd tools/release && GOWORK=off go vet ./...

.PHONY: cross
cross: definitions ## Type-check the command line for macOS and Windows, and both programs for Linux on arm64.
	go run ./test/cross darwin/arm64 ./cmd/gammaguard/...
	go run ./test/cross windows/amd64 ./cmd/gammaguard/...
	go run ./test/cross linux/arm64 ./cmd/...

# TestTraced plays all that TestRepositories plays in make test.
.PHONY: e2e
e2e: definitions controlplane ## Install each overlay on a real cluster and test it there, with Chromium, Neovim, Prometheus, and strace; needs root and Linux.
	go test -tags e2e -count=1 -timeout 40m -p 1 -v -skip '^TestRepositories$$' ./test/repositories ./test/editor ./test/monitoring ./test/node ./test/e2e ./test/browser

.PHONY: scenarios
scenarios: definitions controlplane ## Play a directory of scenarios three ways: SCENARIOS=<directory>.
	@go test -c -o $(CACHE)/bin/scenarios ./test/scenarios/runner # go test would not tell the exit codes apart
	@for folder in "$(SCENARIOS)" "$(PWD)/$(SCENARIOS)" "$(CURDIR)/$(SCENARIOS)"; do \
		case "$$folder" in /*) if [ -e "$$folder" ]; then exec $(CACHE)/bin/scenarios -test.run '^TestScenarios$$' -directory "$$folder"; fi;; esac; \
	done; echo "error: SCENARIOS=$(SCENARIOS): no such directory" >&2; exit 2

# For how long each target is fuzzed.
FUZZ ?= 5s
.PHONY: attack
attack: definitions controlplane ## Try to get round gammaguard, and fuzz it; FUZZ=10m for each fuzz target.
	go test -count=1 -timeout $(TEST_TIMEOUT) $(if $(shell command -v strace),-tags e2e) ./test/attack ./test/repositories
	go test -count=1 -timeout $(TEST_TIMEOUT) -run '^TestHostileText$$' ./internal/cli/cluster ./internal/cli/lsp ./webhook
	@$(MAKE) --no-print-directory fuzz

.PHONY: fuzz
fuzz: definitions ## Run each fuzz target for a time: FUZZ=10m.
	@set -e; git grep -o '^func Fuzz[A-Za-z0-9]*' -- '*_test.go' | sed 's|/[^/]*:func | |' | while read -r folder target; do \
		go test -run '^$$' -fuzz "^$$target$$" -fuzztime $(FUZZ) -fuzzminimizetime 5s "./$$folder"; \
	done

# For how long random routes are compared, and from which seed.
FOR ?= 1m
SEED ?= $(shell date +%s)
.PHONY: random
random: ## Compare trace and diff with a second opinion on random routes: FOR=10m, and SEED=1 to repeat a run.
	go test -count=1 -v -timeout 0 -run '^TestRandom$$' ./traffic -random-for $(FOR) -random-seed $(SEED)

# How many requests make truth compares in each row of the page; SEED=1 repeats a run.
REQUESTS ?= 100000
.PHONY: truth
truth: definitions ## Compare trace with what the own code of Istio and Cilium does, and write docs/truth.md; the first run builds both, in up to 13 minutes.
	cd test/truth && go test -count=1 -timeout 0 -run '^TestTruth$$' . -seed $(SEED) -requests $(REQUESTS) -page ../../docs/truth.md

.PHONY: lint
lint: definitions $(GOLANGCI_LINT) ## Run golangci-lint, in the version that tools/go.mod pins.
	$(GOLANGCI_LINT) run --config tools/golangci.yml ./...

# The database of vulnerabilities: a URL, or a folder of OSV files where there is no network.
VULNDB ?= https://vuln.go.dev
# VULNFLAGS=-tolerant warns instead of failing where the database cannot be reached.
VULNFLAGS ?=
.PHONY: vulncheck
vulncheck: definitions $(GOVULNCHECK) ## Fail where a program can reach a known vulnerability: VULNDB=<directory of OSV files>.
	go run ./test/vuln -program $(GOVULNCHECK) -db "$(VULNDB)" -accepted tools/vulnerabilities.yaml $(VULNFLAGS) ./cmd/...

.PHONY: tidy-check
tidy-check: ## Fail where go mod tidy would change a go.mod or go.sum.
	@untidy=; for module in $(MODULES); do \
		echo "go mod tidy -diff in $$module"; \
		(cd "$$module" && go mod tidy -diff) || untidy="$$untidy $$module"; \
	done; \
	if [ -n "$$untidy" ]; then echo "error: run go mod tidy in:$$untidy" >&2; exit 1; fi

.PHONY: verify
verify: ## Fail where generated files are stale or not committed.
	@.ci/verify

.PHONY: bench
bench: definitions controlplane ## Run the benchmarks.
	go test -run '^$$' -bench . -benchmem -timeout 60m ./...

# LOAD=-quick takes about two minutes; without it, with up to 100,000 routes, half
# an hour, and it writes docs/performance.md and its folder.
LOAD ?= -out docs/performance
.PHONY: bench-load
bench-load: definitions controlplane ## Measure the webhook process and the reconciler at size; LOAD=-quick for a run of two minutes.
	go run ./test/bench/load $(LOAD)

# Without KUBERNETES, the first run builds the API servers of the older releases, in 10
# minutes each, and it writes docs/compatibility.md; with it, it fails where the page is stale.
KUBERNETES ?=
.PHONY: compat
compat: definitions controlplane ## Try releases of the Gateway API on releases of Kubernetes; KUBERNETES=v1.30.14 for one.
	go test -tags e2e -count=1 -timeout 3h -v -run '^TestMatrix$$$(if $(KUBERNETES),/^$(KUBERNETES)$$)' ./test/compat $(if $(KUBERNETES),,-update)

##@ Make
.PHONY: screenshot
screenshot: definitions ## Take the pictures of docs/images anew; needs chromium.
	go test -tags e2e -count=1 -run '^(TestGraph.*|TestPlayground)$$' ./test/browser -update

.PHONY: docs
docs: definitions ## Generate the pages of docs/ that come from the catalog, the commands and what was measured.
	go generate ./...

.PHONY: definitions
definitions: $(DEFINITIONS) ## Extract the CustomResourceDefinitions of routes that gammaguard embeds, where missing.

# go.mod names the version of the module that they come from.
$(DEFINITIONS): go.mod $(wildcard internal/definitions/gen/*.go)
	go mod download sigs.k8s.io/gateway-api
	go run ./internal/definitions/gen "$$(go list -m -f '{{.Dir}}' sigs.k8s.io/gateway-api)" internal/definitions/generated
	@touch $@

.PHONY: controlplane
controlplane: ## Build kube-apiserver, etcd and kubectl from their modules, where missing.
	@go run ./test/bed/controlplane

$(GOLANGCI_LINT): tools/go.mod tools/go.sum
	@echo "building golangci-lint from its module: a minute or two, once" >&2
	@mkdir -p $(@D)
	cd tools && go build -o $@ github.com/golangci/golangci-lint/v2/cmd/golangci-lint

$(GOVULNCHECK): tools/go.mod tools/go.sum
	@mkdir -p $(@D)
	cd tools && go build -o $@ golang.org/x/vuln/cmd/govulncheck

.PHONY: clean
clean: ## Remove what was built, the control plane included.
	rm -rf bin dist .cache internal/definitions/generated/*
