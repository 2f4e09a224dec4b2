# The control plane is a module of its own: the product never depends on k8s.io/kubernetes.
# The version is stamped as the release build does it; clients compare it with their own.

KUBE      := v1.36.3
KUBEFLAGS := -s -w $(foreach p,k8s.io/component-base/version k8s.io/client-go/pkg/version,\
             -X $(p).gitVersion=$(KUBE) -X $(p).gitMajor=1 -X $(p).gitMinor=36)
KUBEBUILD := cd test/controlplane && CGO_ENABLED=0 $(GO) build -trimpath -ldflags '$(KUBEFLAGS)'

$(BIN)/controlplane: $(PLANE)
	$(KUBEBUILD) -o $(CURDIR)/$@ .

$(BIN)/kubectl: test/controlplane/go.mod test/controlplane/go.sum
	$(KUBEBUILD) -o $(CURDIR)/$@ k8s.io/kubernetes/cmd/kubectl
