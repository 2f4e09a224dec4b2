package cluster

import (
	"crypto/x509/pkix"
	"path/filepath"
	"testing"

	"k8s.io/client-go/tools/clientcmd"

	"sluice/test/harness"
)

// kubeconfig writes a kubeconfig with a client certificate for a program of the node and the server of
// another kubeconfig, and returns its path.
func (n *Node) kubeconfig(t *testing.T, server, file, user string, groups ...string) string {
	t.Helper()
	config, err := clientcmd.BuildConfigFromFlags("", server)
	if err != nil {
		t.Fatal(err)
	}
	config.BearerToken = ""
	if config.CertData, config.KeyData, err = n.ClientCertificate(pkix.Name{CommonName: user, Organization: groups}); err != nil {
		t.Fatal(err)
	}
	path := filepath.Join(n.Dir, file+".kubeconfig")
	if err := harness.WriteKubeconfig(path, config); err != nil {
		t.Fatal(err)
	}
	return path
}
