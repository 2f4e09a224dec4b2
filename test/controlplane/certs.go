package main

import (
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/tls"
	"crypto/x509"
	"crypto/x509/pkix"
	"encoding/pem"
	"errors"
	"fmt"
	"io/fs"
	"math/big"
	"net"
	"os"
	"time"
)

// The certificate authorities, each alone responsible for one question.
const (
	servingCA    = "ca"             // is this the apiserver?
	clientCA     = "client-ca"      // who is this client?
	frontProxyCA = "front-proxy-ca" // may this client say who its user is?
)

// The names of key pairs and keys that are no client's.
const (
	apiserverPair   = "apiserver"
	frontProxyPair  = "front-proxy-client"
	serviceAccounts = "service-account.key"
)

const validity = 10 * 365 * 24 * time.Hour

// makeCerts makes whatever certificates and keys are not in the directory yet.
func makeCerts(d directory) error {
	serving, errServing := authority(d, servingCA)
	client, errClient := authority(d, clientCA)
	front, errFront := authority(d, frontProxyCA)
	if err := errors.Join(errServing, errClient, errFront); err != nil {
		return err
	}
	errs := []error{
		leaf(d, apiserverPair, serving, servingTemplate()),
		leaf(d, frontProxyPair, front, clientTemplate(frontProxyPair)),
		serviceAccountKey(d),
	}
	for _, u := range users {
		if u.cert {
			errs = append(errs, leaf(d, u.name+"-cert", client, clientTemplate(u.name, u.groups...)))
		}
	}
	return errors.Join(errs...)
}

// authority loads or makes the self-signed pair of a certificate authority.
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

func servingTemplate() *x509.Certificate {
	return &x509.Certificate{
		Subject:     pkix.Name{CommonName: "kube-apiserver"},
		KeyUsage:    x509.KeyUsageDigitalSignature,
		ExtKeyUsage: []x509.ExtKeyUsage{x509.ExtKeyUsageServerAuth},
		IPAddresses: []net.IP{net.IPv4(127, 0, 0, 1), net.IPv6loopback, net.IPv4(10, 0, 0, 1)},
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

// leaf makes NAME.crt and NAME.key unless both exist. Without an issuer it signs itself. The
// certificate is written last, so that its presence means the pair is whole.
func leaf(d directory, name string, issuer tls.Certificate, t *x509.Certificate) error {
	if exists(d.file(name + ".crt")) {
		return nil
	}
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		return err
	}
	der, err := sign(t, key, issuer)
	if err != nil {
		return fmt.Errorf("sign %s: %w", name, err)
	}
	if err := writeKey(d, name+".key", key); err != nil {
		return err
	}
	return d.write(name+".crt", pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: der}))
}

// sign fills in what all certificates share and signs.
func sign(t *x509.Certificate, key *ecdsa.PrivateKey, issuer tls.Certificate) ([]byte, error) {
	serial, err := rand.Int(rand.Reader, new(big.Int).Lsh(big.NewInt(1), 120))
	if err != nil {
		return nil, err
	}
	t.SerialNumber = serial
	t.NotBefore = time.Now().Add(-time.Hour) // clocks differ
	t.NotAfter = time.Now().Add(validity)
	if issuer.Leaf == nil {
		return x509.CreateCertificate(rand.Reader, t, t, &key.PublicKey, key)
	}
	return x509.CreateCertificate(rand.Reader, t, issuer.Leaf, &key.PublicKey, issuer.PrivateKey)
}

// serviceAccountKey makes the key that signs service account tokens.
func serviceAccountKey(d directory) error {
	if exists(d.file(serviceAccounts)) {
		return nil
	}
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		return err
	}
	return writeKey(d, serviceAccounts, key)
}

func writeKey(d directory, name string, key *ecdsa.PrivateKey) error {
	der, err := x509.MarshalECPrivateKey(key)
	if err != nil {
		return err
	}
	return d.write(name, pem.EncodeToMemory(&pem.Block{Type: "EC PRIVATE KEY", Bytes: der}))
}

func exists(path string) bool {
	_, err := os.Stat(path)
	return !errors.Is(err, fs.ErrNotExist)
}
