# Every target works on a machine that has only Go, gcc, make and git.

GO       ?= go
BIN      := bin
TOOLS    := $(GO) tool -modfile=.ci/tools/go.mod
VERSION  ?= $(shell git describe --tags --always --dirty 2>/dev/null || echo unknown)
LDFLAGS  := -s -w -X main.version=$(VERSION)
PRODUCT  := $(shell find cmd proxy codec cache config -name '*.go' 2>/dev/null) go.mod go.sum
PLANE    := $(shell find test/controlplane -name '*.go' 2>/dev/null) $(wildcard test/controlplane/go.*)

.PHONY: help
help: ## List the targets
	@awk -F ':.*## ' '/^[a-z-]+:.*## / {printf "  %-14s %s\n", $$1, $$2}' $(MAKEFILE_LIST)

.PHONY: build
build: $(BIN)/sluice ## Build bin/sluice

$(BIN)/sluice: $(PRODUCT)
	CGO_ENABLED=0 $(GO) build -trimpath -ldflags '$(LDFLAGS)' -o $@ ./cmd/sluice

# The same with the race detector, for tests.
$(BIN)/sluice-race: $(PRODUCT)
	$(GO) build -race -ldflags '-X main.version=$(VERSION)' -o $@ ./cmd/sluice

.PHONY: controlplane
controlplane: $(BIN)/controlplane $(BIN)/kubectl ## Build bin/controlplane (etcd + kube-apiserver) and bin/kubectl

include test/controlplane/build.mk

.PHONY: demo
demo: build controlplane ## Show Sluice before a control plane full of samples; FLAGS='--pods 5000' and the like
	$(GO) build -o $(BIN)/demo ./test/demo
	@$(BIN)/demo $(FLAGS)

.PHONY: test
test: lint build $(BIN)/sluice-race controlplane ## Run every test, those against the real apiserver included
	$(GO) test -race -timeout 30m ./...
	$(GO) test -run Alloc ./codec/... # what the race detector cannot tell

.PHONY: bench
bench: $(BIN)/sluice $(BIN)/controlplane ## Load the apiserver and Sluice side by side, and print what each request costs them (BENCH=--quick)
	$(GO) build -o $(BIN)/bench ./test/bench
	$(BIN)/bench $(BENCH)

.PHONY: lint
lint: ## gofmt, go vet and staticcheck
	@test -z "$$(gofmt -l cmd proxy codec cache config test)" || { gofmt -l cmd proxy codec cache config test; exit 1; }
	$(GO) vet ./...
	$(TOOLS) staticcheck ./...

.PHONY: fmt
fmt: ## Format all Go files
	gofmt -w cmd proxy codec cache config test
