package cluster

import (
	"crypto/x509/pkix"
	"path/filepath"
	"testing"

	"k8s.io/client-go/tools/clientcmd"
	clientcmdapi "k8s.io/client-go/tools/clientcmd/api"
)

// kubeconfig writes a kubeconfig with a client certificate for a program of the node and the server of
// another kubeconfig, and returns its path.
func (n *Node) kubeconfig(t *testing.T, server, file, user string, groups ...string) string {
	t.Helper()
	config, err := clientcmd.LoadFromFile(server)
	if err != nil {
		t.Fatal(err)
	}
	for name := range config.AuthInfos {
		cert, key, err := n.ClientCertificate(pkix.Name{CommonName: user, Organization: groups})
		if err != nil {
			t.Fatal(err)
		}
		config.AuthInfos[name] = &clientcmdapi.AuthInfo{ClientCertificateData: cert, ClientKeyData: key}
	}
	path := filepath.Join(n.Dir, file+".kubeconfig")
	if err := clientcmd.WriteToFile(*config, path); err != nil {
		t.Fatal(err)
	}
	return path
}
