# The control plane is a module of its own: the product never depends on k8s.io/kubernetes.
# The version is stamped as the release build does it; clients compare it with their own.

KUBE      := v1.37.2
MAIN      := $(patsubst v%,%,$(basename $(KUBE)))
OLDER     := 1.34 1.35 1.36
# $(call kubebuild,VERSION) builds with a version of Kubernetes.
kubeflags  = -s -w $(foreach p,k8s.io/component-base/version k8s.io/client-go/pkg/version,\
             -X $(p).gitVersion=$(1) -X $(p).gitMajor=1 -X $(p).gitMinor=$(word 2,$(subst ., ,$(1))))
kubebuild  = cd test/controlplane && $(BUILD) -ldflags "$(call kubeflags,$(1))"

$(BIN)/controlplane: $(PLANE)
	$(call step,Building $@: etcd and kube-apiserver $(KUBE) (about 6 minutes with an empty build cache),$(call kubebuild,$(KUBE)) -o $(CURDIR)/$@ .)

# Older releases: the same code with another go.mod. v1.35.mod is for 1.35.
kubeof     = $(shell sed -n 's|^\tk8s.io/kubernetes ||p' test/controlplane/v$(1).mod)

$(BIN)/controlplane-%: $(PLANE) test/controlplane/v%.mod test/controlplane/v%.sum
	$(call step,Building $@: etcd and kube-apiserver $(call kubeof,$*) (about 6 minutes with an empty build cache),$(call kubebuild,$(call kubeof,$*)) -modfile=v$*.mod -o $(CURDIR)/$@ .)

# The programs of a node, and the scheduler.
$(BIN)/node: $(wildcard test/controlplane/node/*.go) test/controlplane/go.mod test/controlplane/go.sum
	$(call step,Building $@: the programs of a node $(KUBE) (about 5 minutes with an empty build cache),$(call kubebuild,$(KUBE)) -o $(CURDIR)/$@ ./node)

$(BIN)/kubectl: test/controlplane/go.mod test/controlplane/go.sum
	$(call step,Building $@ (about 1 minute with an empty build cache),$(call kubebuild,$(KUBE)) -o $(CURDIR)/$@ k8s.io/kubernetes/cmd/kubectl)
