# Every target works on a machine that has only Go, gcc, make and git.

GO       ?= go
BIN      := bin
TOOLS    := $(GO) tool -modfile=.ci/tools/go.mod
# One set of flags for every program, so that no dependency is compiled twice.
BUILD    := CGO_ENABLED=0 $(GO) build -trimpath
VERSION  ?= $(shell git describe --tags --always --dirty 2>/dev/null || echo unknown)
LDFLAGS  := -s -w -X main.version=$(VERSION)
PRODUCT  := $(shell find cmd proxy codec cache config docs -name '*.go' 2>/dev/null) docs/config.yaml config/schema.json go.mod go.sum
PLANE    := $(wildcard test/controlplane/*.go) $(wildcard test/controlplane/go.*)

# $(call step,MESSAGE,COMMAND) runs COMMAND and prints MESSAGE with the seconds it took; the output of COMMAND
# appears only when it fails.
step = @printf '%s ... ' '$(1)'; begin=$$(date +%s); \
	if output=$$({ $(2); } 2>&1); then echo "$$(($$(date +%s) - begin)) s"; \
	else echo failed; echo "$$output" >&2; exit 1; fi

# A module that has a newer release.
BEHIND = {{with .Update}}  {{$$.Path}} {{$$.Version}} -> {{.Version}}{{end}}

.PHONY: help
help: ## List the targets
	@awk -F ':.*## ' '/^[a-z-]+:.*## / {printf "  %-14s %s\n", $$1, $$2}' $(MAKEFILE_LIST)

.PHONY: build
build: $(BIN)/sluice ## Build bin/sluice

$(BIN)/sluice: $(PRODUCT)
	$(call step,Building $@ (about 2 minutes with an empty build cache),$(BUILD) -ldflags "$(LDFLAGS)" -o $@ ./cmd/sluice)

# The same with the race detector, for tests.
$(BIN)/sluice-race: $(PRODUCT)
	$(call step,Building $@ (about 3 minutes with an empty build cache),$(GO) build -race -ldflags "-X main.version=$(VERSION)" -o $@ ./cmd/sluice)

.PHONY: controlplane
controlplane: $(BIN)/controlplane $(BIN)/kubectl ## Build bin/controlplane (etcd + kube-apiserver) and bin/kubectl

include test/controlplane/build.mk
include deploy/build.mk

.PHONY: demo
demo: build controlplane ## Show Sluice in front of a control plane full of samples; FLAGS='--pods 5000' and the like
	$(call step,Building $(BIN)/demo,$(BUILD) -o $(BIN)/demo ./test/demo)
	@$(BIN)/demo $(FLAGS)

# make test runs these; make check runs the other packages, and the other tests of CLIENTS and FAULTS. The tests of CORE,
# CLIENTS and FAULTS read from bin/sluice-race: the race detector watches Sluice, not the clients, which would need eight
# times as much CPU.
UNIT    := ./cmd/... ./proxy/... ./codec/... ./cache/... ./config/... ./docs/... ./test/architecture ./test/docs \
           ./test/support/... ./test/consistency/history ./test/consistency/wire
CORE    := ./test/conformance ./test/authz
CLIENTS := ./test/clients -run='Informer|ControllerRuntime|Kubectl|Curl|ClientGo'
FAULTS  := ./test/consistency -run='TestPromisesHoldUnderFaults'
REST     = $(filter-out $(shell $(GO) list $(UNIT) $(CORE) ./test/clients ./test/consistency),$(shell $(GO) list ./test/...))

.PHONY: test
test: build $(BIN)/sluice-race controlplane ## Run what a change needs: unit tests, and the core in front of the real apiserver
	$(GO) test -race -timeout 10m $(UNIT)
	$(GO) test -timeout 10m $(CORE)
	$(GO) test -timeout 10m $(CLIENTS)
	$(GO) test -timeout 10m $(FAULTS)

.PHONY: check
check: lint build $(BIN)/sluice-race $(BIN)/chart controlplane ## Run everything else: lint, browsers, other clients, pressure, abuse, deployments, long consistency
	$(GO) test -race -timeout 15m $(REST)
	$(GO) test -timeout 15m $(subst -run=,-skip=,$(CLIENTS))
	$(GO) test -timeout 15m $(subst -run=,-skip=,$(FAULTS))
	cd test/bench && $(GO) test -race -timeout 15m ./...
	cd deploy/pack && CGO_ENABLED=0 $(GO) test -trimpath ./...

# About 5 minutes; OUTAGE=5m has each outage last so long. Needs root and the Debian packages containerd, runc,
# containernetworking-plugins, iptables and iproute2, else it is skipped and says why, before it builds anything.
.PHONY: test-cluster
test-cluster: ## Run Sluice in a cluster with a real node (containerd, kubelet); not part of make test
	@out=$$(CLUSTER=1 $(GO) test -count=1 -v -run TestRequirements ./test/cluster) || { echo "$$out"; exit 1; }; \
	case "$$out" in *SKIP*) echo "$$out";; *) $(MAKE) --no-print-directory run-test-cluster;; esac

.PHONY: run-test-cluster
run-test-cluster: build controlplane $(BIN)/node $(BIN)/helm $(BIN)/cluster-client
	@$(MAKE) --no-print-directory image PLATFORMS=linux/$$($(GO) env GOARCH) PACKED=$(BIN)/cluster-image
	CLUSTER=1 $(GO) test -count=1 $(if $(CI),-timeout 12m,-timeout 40m -v) -run TestCluster ./test/cluster

$(BIN)/cluster-client: $(wildcard test/cluster/client/*.go) go.mod go.sum
	$(call step,Building $@,$(BUILD) -ldflags "-s -w" -o $@ ./test/cluster/client)

# Minutes, but an hour to build the programs with an empty build cache and two cores. Some need node, npm, tmux or the
# Debian package python3-kubernetes, and are skipped by name without it.
.PHONY: test-clients
test-clients: build controlplane ## Run programs of others directly and through Sluice, and compare; not part of make test
	PEERS=1 $(GO) test -count=1 -timeout 2h -v ./test/peers

# $(call before,CONTROLPLANE,FLAGS,LACKS) runs the core of the tests with a control plane of bin/ with flags of
# kube-apiserver; LACKS are the features that the rows must not require (harness.Lacks).
before = CONTROLPLANE='$(1)' APISERVER_FLAGS='$(2)' APISERVER_LACKS='$(3)' $(GO) test -count=1 -timeout 20m \
	-run 'TestResponsesEqualTheApiserver/rows|Informer|ControllerRuntime|TablesFromTheCache' ./test/conformance ./test/clients ./test/storage

.PHONY: test-versions
test-versions: test-gates test-older test-next ## Run the core of the tests with other kube-apiservers; not part of make test

# Gates that clients cannot see, each switched to what is not its default.
UNSEEN = APIServingWithRoutine=true,ConcurrentWatchObjectDecode=false,DetectCacheInconsistency=false,SizeBasedListCostEstimate=false,$\
	AllowUnsafeMalformedObjectDeletion=false,AllowParsingUserUIDFromCertAuth=false,UnauthenticatedHTTP2DOSMitigation=false

# About 17 minutes. ConsistentListFromCache cannot be switched off since 1.34. StorageVersionAPI needs its own API.
# docs/semantics.md has a table of the gates.
.PHONY: test-gates
test-gates: build $(BIN)/sluice-race controlplane ## Run the core of the tests with a kube-apiserver with other feature gates
	$(call before,controlplane,--feature-gates=WatchList=false,WatchList)
	$(call before,controlplane,--feature-gates=ListFromCacheSnapshot=false,ListFromCacheSnapshot)
	$(call before,controlplane,--feature-gates=StorageVersionHash=false)
	$(call before,controlplane,--feature-gates=StorageVersionAPI=true --runtime-config=internal.apiserver.k8s.io/v1alpha1=true)
	$(call before,controlplane,--feature-gates=CBORServingAndStorage=false,CBOR)
	$(call before,controlplane,--feature-gates=ShardedListAndWatch=true,IgnoredShards)
	$(call before,controlplane,--feature-gates=WatchListCompression=false)
	$(call before,controlplane,--feature-gates=EtcdRangeStream=false)
	$(call before,controlplane,--feature-gates=ConsistentListFromCacheSkipTimeoutFallback=true)
	$(call before,controlplane,--feature-gates=$(UNSEEN))

# About 6 minutes, and three quarters of an hour to build the control planes with an empty build cache and two cores.
.PHONY: test-older
test-older: build $(BIN)/sluice-race $(BIN)/kubectl $(foreach r,$(OLDER),$(BIN)/controlplane-$(r)) ## Run the core of the tests with kube-apiserver 1.34, 1.35 and 1.36
	$(call before,controlplane-1.34,,ConstrainedImpersonation ImpersonationErrors Columns EmptyFields CBORRefusals CSINodes)
	$(call before,controlplane-1.35,,ConstrainedImpersonation Columns CBORRefusals CSINodes)
	$(call before,controlplane-1.36,,CBORRefusals CSINodes)

# kube-apiserver 1.38.0-beta.0 needs Go 1.27: with it, `go mod tidy -modfile` makes v1.38.mod of go.mod and that release.
.PHONY: test-next
ifeq (,$(wildcard test/controlplane/v1.38.mod))
test-next: ## Run the core of the tests with the next kube-apiserver, once it can be built
	@echo 'SKIP kube-apiserver 1.38: there is no test/controlplane/v1.38.mod, for which Go 1.27 is needed'
else
test-next: build $(BIN)/sluice-race $(BIN)/kubectl $(BIN)/controlplane-1.38
	$(call before,controlplane-1.38,,DropManagedFields)
	$(call before,controlplane-1.38,--feature-gates=ManagedFieldsOptOut=true,IgnoredDrop)
endif

.PHONY: bench
bench: $(BIN)/sluice $(BIN)/controlplane ## Load the apiserver and Sluice side by side, and print what each request costs them (BENCH=--quick)
	$(call step,Building $(BIN)/bench,cd test/bench && $(BUILD) -o $(CURDIR)/$(BIN)/bench .)
	$(BIN)/bench $(BENCH)

.PHONY: bench-scale
bench-scale: BENCH = --scale=cluster,lists,memory,watches
bench-scale: bench ## The same with 100,000 pods and 300,000 ConfigMaps, lists of 1 GB and 10,000 watches; needs 20 GB of memory

.PHONY: bench-compare
bench-compare: ## Run the Go benchmarks here and at REF, interleaved, and compare them with benchstat (PKG, RUN, COUNT)
	@GO='$(GO)' REF='$(REF)' PKG='$(PKG)' RUN='$(RUN)' COUNT='$(COUNT)' .ci/bench-compare

.PHONY: lint
lint: ## gofmt, go vet, staticcheck and deadcode
	@test -z "$$(gofmt -l cmd proxy codec cache config deploy docs test)" || { gofmt -l cmd proxy codec cache config deploy docs test; exit 1; }
	$(GO) vet ./...
	cd deploy/pack && CGO_ENABLED=0 $(GO) vet -trimpath ./...
	cd test/bench && $(GO) vet ./...
	$(TOOLS) staticcheck ./...
	cd test/bench && $(GO) tool -modfile=$(CURDIR)/.ci/tools/go.mod staticcheck ./...
	@dead=$$($(TOOLS) deadcode ./cmd/...); test -z "$$dead" || { echo "$$dead"; exit 1; }

.PHONY: docs
docs: ## Write what comes from the code into docs: the configuration file and its schema, commands, metrics, messages, reasons, sizes
	$(GO) test -count=1 -run 'ConfigurationFiles|(Has|Have)Every(Message|Metric|Command)|HasAdviceForEveryReason|HasTheSizeOfEveryPackage' ./test/docs ./cmd/sluice -update

.PHONY: site
site: ## Make the documents a site of plain HTML in bin/site
	$(GO) test -count=1 -run TestEveryLinkOfTheSite ./test/docs -site '$(CURDIR)/$(BIN)/site'

# The newest that fits is not always the newest: what decodes for the apiserver must decode the same here, and the
# control plane has the modules of Kubernetes' release.
.PHONY: outdated
outdated: ## List the direct requirements of every module, and its tools, that are behind their newest release
	@for m in $$(git ls-files go.mod '*/go.mod'); do echo "$$m"; (cd $$(dirname $$m) && { \
	  $(GO) list -m -e -u -f '{{if not .Indirect}}$(BEHIND){{end}}' all; \
	  tools=$$($(GO) list -f '{{.Module.Path}}' tool 2>/dev/null); test -z "$$tools" || $(GO) list -m -e -u -f '$(BEHIND)' $$tools; \
	}) | grep . | sort -u; done

.PHONY: fmt
fmt: ## Format all Go files
	gofmt -w cmd proxy codec cache config deploy docs test
