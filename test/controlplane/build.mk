# The control plane is a module of its own: the product never depends on k8s.io/kubernetes.
# The version is stamped as the release build does it; clients compare it with their own.

KUBE      := v1.36.3
KUBEFLAGS := -s -w $(foreach p,k8s.io/component-base/version k8s.io/client-go/pkg/version,\
             -X $(p).gitVersion=$(KUBE) -X $(p).gitMajor=1 -X $(p).gitMinor=36)
KUBEBUILD := cd test/controlplane && $(BUILD) -ldflags "$(KUBEFLAGS)"

$(BIN)/controlplane: $(PLANE)
	$(call step,Building $@: etcd and kube-apiserver $(KUBE) (about 6 minutes with an empty build cache),$(KUBEBUILD) -o $(CURDIR)/$@ .)

$(BIN)/kubectl: test/controlplane/go.mod test/controlplane/go.sum
	$(call step,Building $@ (about 1 minute with an empty build cache),$(KUBEBUILD) -o $(CURDIR)/$@ k8s.io/kubernetes/cmd/kubectl)
