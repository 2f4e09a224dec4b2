package cluster

import (
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/tls"
	"crypto/x509"
	"crypto/x509/pkix"
	"encoding/pem"
	"math/big"
	"path/filepath"
	"testing"
	"time"

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
		cert, key := n.clientCertificate(t, user, groups)
		config.AuthInfos[name] = &clientcmdapi.AuthInfo{ClientCertificateData: cert, ClientKeyData: key}
	}
	path := filepath.Join(n.Dir, file+".kubeconfig")
	if err := clientcmd.WriteToFile(*config, path); err != nil {
		t.Fatal(err)
	}
	return path
}

// clientCertificate returns a certificate that the control plane's CA of client certificates has signed,
// and its key, in PEM.
func (n *Node) clientCertificate(t *testing.T, user string, groups []string) (cert, key []byte) {
	t.Helper()
	check := func(err error) {
		t.Helper()
		if err != nil {
			t.Fatal(err)
		}
	}
	ca, err := tls.LoadX509KeyPair(filepath.Join(n.PlaneDir, "client-ca.crt"), filepath.Join(n.PlaneDir, "client-ca.key"))
	check(err)
	private, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	check(err)
	der, err := x509.CreateCertificate(rand.Reader, &x509.Certificate{
		SerialNumber: big.NewInt(time.Now().UnixNano()),
		Subject:      pkix.Name{CommonName: user, Organization: groups},
		NotBefore:    time.Now().Add(-time.Hour),
		NotAfter:     time.Now().Add(24 * time.Hour),
		KeyUsage:     x509.KeyUsageDigitalSignature,
		ExtKeyUsage:  []x509.ExtKeyUsage{x509.ExtKeyUsageClientAuth},
	}, ca.Leaf, &private.PublicKey, ca.PrivateKey)
	check(err)
	secret, err := x509.MarshalECPrivateKey(private)
	check(err)
	return pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: der}),
		pem.EncodeToMemory(&pem.Block{Type: "EC PRIVATE KEY", Bytes: secret})
}
