# Images and release archives. deploy/pack is a module of its own: the product never depends on it.

IMAGE      ?= localhost/sluice:dev
PLATFORMS  ?= linux/amd64 linux/arm64
REVISION   ?= $(shell git rev-parse HEAD 2>/dev/null)
export SOURCE_DATE_EPOCH ?= $(shell git log -1 --format=%ct 2>/dev/null || echo 0)

PACKED     := $(BIN)/image
RELEASED   := $(BIN)/release
RELEASES   := linux-amd64 linux-arm64 darwin-amd64 darwin-arm64
PACK        = $(BIN)/pack
PACKFLAGS   = -version $(VERSION) -revision '$(REVISION)'

$(PACK): $(wildcard deploy/pack/*.go) deploy/pack/go.mod deploy/pack/go.sum
	$(call step,Building $@ (about 10 seconds with an empty build cache),cd deploy/pack && $(BUILD) -o $(CURDIR)/$@ .)

# The environment must not change the binary, so each variable that could is set here. It is linked each time,
# because it holds the version.
$(BIN)/dist/%/sluice: $(PRODUCT) FORCE
	$(call step,Building $@ (about 2 minutes with an empty build cache),GOFLAGS= GOEXPERIMENT= GOFIPS140=off GOAMD64=v1 GOARM64=v8.0 \
	GOOS=$(word 1,$(subst -, ,$*)) GOARCH=$(word 2,$(subst -, ,$*)) $(BUILD) -buildvcs=false -ldflags "$(LDFLAGS)" -o $@ ./cmd/sluice)

.PHONY: FORCE
FORCE:

.PHONY: image
image: $(PACK) $(foreach p,$(subst /,-,$(PLATFORMS)),$(BIN)/dist/$(p)/sluice) ## Build bin/image: an OCI archive, SBOMs, checksums; no Docker, no network (IMAGE, PLATFORMS)
	@rm -rf $(PACKED) && mkdir -p $(PACKED)
	$(call step,Packing $(PACKED)/sluice.tar,$(PACK) image -out $(PACKED)/sluice.tar -name $(IMAGE) $(PACKFLAGS) $(foreach p,$(PLATFORMS),$(p)=$(BIN)/dist/$(subst /,-,$(p))/sluice))
	@for p in $(subst /,-,$(PLATFORMS)); do $(PACK) sbom -out $(PACKED)/sluice-$$p.spdx.json $(PACKFLAGS) $(BIN)/dist/$$p/sluice || exit 1; done
	@cd $(PACKED) && LC_ALL=C sha256sum * > SHA256SUMS

.PHONY: release
release: image $(foreach p,$(RELEASES),$(BIN)/dist/$(p)/sluice) ## Build bin/release: archives of binaries, the image, SBOMs, checksums
	@rm -rf $(RELEASED) && mkdir -p $(RELEASED) && cp $(PACKED)/sluice.tar $(RELEASED)/sluice-$(VERSION)-image.tar
	@for s in bash zsh fish; do $(BIN)/dist/$(shell $(GO) env GOHOSTOS)-$(shell $(GO) env GOHOSTARCH)/sluice completion $$s > $(BIN)/dist/sluice.$$s || exit 1; done
	@for n in kubectl-sluice kubectl_complete-sluice; do ln -sf sluice $(BIN)/dist/$$n || exit 1; done
	$(call step,Packing $(RELEASED),for p in $(RELEASES); do \
	$(PACK) archive -out $(RELEASED)/sluice-$(VERSION)-$$p.tar.gz sluice=$(BIN)/dist/$$p/sluice $(foreach n,kubectl-sluice kubectl_complete-sluice,$(n)=$(BIN)/dist/$(n)) LICENSE=LICENSE README.md=README.md \
	  $(foreach s,bash zsh fish,completion/sluice.$(s)=$(BIN)/dist/sluice.$(s)) && \
	$(PACK) sbom -out $(RELEASED)/sluice-$(VERSION)-$$p.spdx.json $(PACKFLAGS) $(BIN)/dist/$$p/sluice || exit 1; done)
	@cd $(RELEASED) && LC_ALL=C sha256sum * > SHA256SUMS

# helm template without helm, which takes minutes to build.
$(BIN)/chart: test/deploy/helm/main.go test/deploy/helm/go.mod test/deploy/helm/go.sum
	$(call step,Building $@ (about 30 seconds with an empty build cache),cd test/deploy/helm && $(BUILD) -o $(CURDIR)/$@ .)

# helm itself, for make test-cluster. make test does not need it.
$(BIN)/helm: test/deploy/helm/go.mod test/deploy/helm/go.sum
	$(call step,Building $@ (about 3 minutes with an empty build cache),cd test/deploy/helm && $(BUILD) -ldflags '-s -w' -o $(CURDIR)/$@ helm.sh/helm/v4/cmd/helm)
