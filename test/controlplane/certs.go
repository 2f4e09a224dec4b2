package main

import (
	"crypto"
	"crypto/rand"
	"crypto/tls"
	"crypto/x509"
	"crypto/x509/pkix"
	"encoding/pem"
	"errors"
	"fmt"
	"io/fs"
	"net"
	"os"
	"time"

	"k8s.io/client-go/util/keyutil"
)

// The names of the certificate authorities.
const (
	servingCA    = "ca"             // of the apiserver's serving certificate
	clientCA     = "client-ca"      // of client certificates
	frontProxyCA = "front-proxy-ca" // of clients that may send X-Remote-* headers
)

// The names of other key pairs and keys.
const (
	apiserverPair   = "apiserver"
	frontProxyPair  = "front-proxy-client"
	serviceAccounts = "service-account.key"
)

const validity = 10 * 365 * 24 * time.Hour

// makeCerts creates the certificates and keys that the directory does not contain, for an apiserver at address.
func makeCerts(d directory, address net.IP) error {
	serving, errServing := authority(d, servingCA)
	client, errClient := authority(d, clientCA)
	front, errFront := authority(d, frontProxyCA)
	if err := errors.Join(errServing, errClient, errFront); err != nil {
		return err
	}
	errs := []error{
		leaf(d, apiserverPair, serving, servingTemplate(address)),
		leaf(d, frontProxyPair, front, clientTemplate(frontProxyPair)),
	}
	if !exists(d.file(serviceAccounts)) { // the key that signs tokens of service accounts
		_, err := newKey(d, serviceAccounts)
		errs = append(errs, err)
	}
	for _, u := range users {
		if u.cert {
			errs = append(errs, leaf(d, u.name+"-cert", client, clientTemplate(u.name, u.groups...)))
		}
	}
	return errors.Join(errs...)
}

// authority loads or creates the self-signed key pair of a certificate authority.
func authority(d directory, name string) (tls.Certificate, error) {
	t := &x509.Certificate{
		Subject:               pkix.Name{CommonName: name},
		KeyUsage:              x509.KeyUsageCertSign | x509.KeyUsageDigitalSignature,
		BasicConstraintsValid: true,
		IsCA:                  true,
	}
	if err := leaf(d, name, tls.Certificate{}, t); err != nil {
		return tls.Certificate{}, err
	}
	return tls.LoadX509KeyPair(d.file(name+".crt"), d.file(name+".key"))
}

func servingTemplate(address net.IP) *x509.Certificate {
	return &x509.Certificate{
		Subject:     pkix.Name{CommonName: "kube-apiserver"},
		KeyUsage:    x509.KeyUsageDigitalSignature,
		ExtKeyUsage: []x509.ExtKeyUsage{x509.ExtKeyUsageServerAuth},
		IPAddresses: []net.IP{net.IPv4(127, 0, 0, 1), net.IPv6loopback, net.IPv4(10, 0, 0, 1), address},
		DNSNames: []string{"localhost", "kubernetes", "kubernetes.default", "kubernetes.default.svc",
			"kubernetes.default.svc.cluster.local", sampleService},
	}
}

func clientTemplate(user string, groups ...string) *x509.Certificate {
	return &x509.Certificate{
		Subject:     pkix.Name{CommonName: user, Organization: groups},
		KeyUsage:    x509.KeyUsageDigitalSignature,
		ExtKeyUsage: []x509.ExtKeyUsage{x509.ExtKeyUsageClientAuth},
	}
}

// leaf creates NAME.crt and NAME.key unless they exist. Without an issuer the certificate is
// self-signed. leaf writes the certificate last, so that its presence means that the pair is complete.
func leaf(d directory, name string, issuer tls.Certificate, t *x509.Certificate) error {
	if exists(d.file(name + ".crt")) {
		return nil
	}
	key, err := newKey(d, name+".key")
	if err != nil {
		return err
	}
	t.NotBefore = time.Now().Add(-time.Hour) // tolerates clock skew
	t.NotAfter = time.Now().Add(validity)
	if issuer.Leaf == nil {
		issuer = tls.Certificate{Leaf: t, PrivateKey: key}
	}
	der, err := x509.CreateCertificate(rand.Reader, t, issuer.Leaf, key.Public(), issuer.PrivateKey)
	if err != nil {
		return fmt.Errorf("sign %s: %w", name, err)
	}
	return d.write(name+".crt", pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: der}))
}

// newKey creates a key and writes it to a file.
func newKey(d directory, name string) (crypto.Signer, error) {
	text, err := keyutil.MakeEllipticPrivateKeyPEM()
	if err != nil {
		return nil, err
	}
	key, err := keyutil.ParsePrivateKeyPEM(text)
	if err != nil {
		return nil, err
	}
	return key.(crypto.Signer), d.write(name, text)
}

func exists(path string) bool {
	_, err := os.Stat(path)
	return !errors.Is(err, fs.ErrNotExist)
}
