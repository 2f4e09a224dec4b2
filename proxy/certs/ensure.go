package certs

import (
	"context"
	"crypto"
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
	"path/filepath"
	"slices"
	"time"

	"go.uber.org/zap"
	"k8s.io/apimachinery/pkg/util/wait"
	certutil "k8s.io/client-go/util/cert"
)

const (
	caLife   = 10 * 365 * 24 * time.Hour
	certLife = 90 * 24 * time.Hour
	// renewBefore is the remaining validity below which a new certificate is issued.
	renewBefore = certLife / 3
	// renewEvery is how often a running process looks at its certificate.
	renewEvery = 12 * time.Hour
)

// Files holds the paths of PEM files: the CA certificate, the serving certificate and its private key.
type Files struct {
	CA, Cert, Key string
	// Issued reports whether Ensure has issued the certificate now, instead of finding it.
	Issued bool
}

// Ensure returns the files of a serving certificate for hosts, DNS names or IP addresses, in dir. It
// creates a CA if dir has none, so that clients need to trust dir/ca.crt only once, and issues a
// certificate if the present one does not cover hosts or expires within 30 days. It replaces only
// certificates of that CA: other files under the names it uses are an error.
func Ensure(dir string, hosts []string) (Files, error) {
	if _, _, err := EnsureCA(dir); err != nil {
		return Files{}, err
	}
	return renew(dir, hosts)
}

// EnsureCA returns the files of the CA in dir and of its key. It creates them if neither exists.
func EnsureCA(dir string) (certFile, keyFile string, err error) {
	certFile, keyFile = filepath.Join(dir, "ca.crt"), filepath.Join(dir, "ca.key")
	if err := os.MkdirAll(dir, 0o700); err != nil {
		return "", "", fmt.Errorf("certificate directory: %w", err)
	}
	present, err := exist(certFile, keyFile)
	if err == nil && !present {
		err = createCA(certFile, keyFile)
	}
	if err != nil {
		return "", "", fmt.Errorf("certificate authority in %s: %w", dir, err)
	}
	return certFile, keyFile, nil
}

// Renew keeps the certificate that [Ensure] has issued from expiring, until ctx ends, and always returns nil. A [Reloader] of
// the files serves the new one. It makes no new CA, which clients would not trust.
func Renew(ctx context.Context, dir string, hosts []string, log *zap.Logger) error {
	wait.UntilWithContext(ctx, func(context.Context) {
		if files, err := renew(dir, hosts); err != nil {
			log.Error("serving certificate not renewed", zap.Error(err))
		} else if files.Issued {
			log.Info("serving certificate issued", zap.String("ca", files.CA))
		}
	}, renewEvery)
	return nil
}

// renew returns the files of a certificate of the CA in dir, which it issues unless the present one will do.
func renew(dir string, hosts []string) (Files, error) {
	files := Files{
		CA:   filepath.Join(dir, "ca.crt"),
		Cert: filepath.Join(dir, "tls.crt"),
		Key:  filepath.Join(dir, "tls.key"),
	}
	ca, err := loadCA(files.CA, filepath.Join(dir, "ca.key"))
	if err != nil {
		return files, fmt.Errorf("certificate authority in %s: %w", dir, err)
	}
	if ca.covers(files, hosts) {
		return files, nil
	}
	err = ca.mayReplace(files)
	if err == nil {
		err = ca.issue(files, hosts)
	}
	if err != nil {
		return files, fmt.Errorf("serving certificate in %s: %w", dir, err)
	}
	files.Issued = true
	return files, nil
}

// authority is a CA that can sign.
type authority struct {
	cert *x509.Certificate
	key  crypto.Signer
}

// exist reports whether both files exist. It is an error if one exists without the other.
func exist(certFile, keyFile string) (bool, error) {
	_, certErr := os.Lstat(certFile)
	_, keyErr := os.Lstat(keyFile)
	switch {
	case certErr == nil && keyErr == nil:
		return true, nil
	case errors.Is(certErr, fs.ErrNotExist) && errors.Is(keyErr, fs.ErrNotExist):
		return false, nil
	}
	return false, fmt.Errorf("%s or %s exists without the other: %w", certFile, keyFile, errors.Join(certErr, keyErr))
}

func loadCA(certFile, keyFile string) (*authority, error) {
	pair, err := tls.LoadX509KeyPair(certFile, keyFile)
	if err != nil {
		return nil, err
	}
	key, ok := pair.PrivateKey.(crypto.Signer)
	if !ok {
		return nil, fmt.Errorf("%s: key cannot sign", keyFile)
	}
	return &authority{cert: pair.Leaf, key: key}, nil
}

func createCA(certFile, keyFile string) error {
	template, err := newTemplate("sluice-ca", caLife)
	if err != nil {
		return err
	}
	template.IsCA, template.BasicConstraintsValid = true, true
	template.KeyUsage = x509.KeyUsageCertSign | x509.KeyUsageDigitalSignature
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		return err
	}
	return write(template, template, key, key, certFile, keyFile)
}

func newTemplate(name string, life time.Duration) (*x509.Certificate, error) {
	serial, err := rand.Int(rand.Reader, new(big.Int).Lsh(big.NewInt(1), 120))
	if err != nil {
		return nil, err
	}
	now := time.Now()
	return &x509.Certificate{
		SerialNumber: serial,
		Subject:      pkix.Name{CommonName: name},
		NotBefore:    now.Add(-time.Hour),
		NotAfter:     now.Add(life),
	}, nil
}

// covers reports whether the certificate in files is signed by this CA, valid for all hosts, and not
// about to expire.
func (a *authority) covers(files Files, hosts []string) bool {
	pair, err := tls.LoadX509KeyPair(files.Cert, files.Key)
	if err != nil || pair.Leaf.CheckSignatureFrom(a.cert) != nil {
		return false
	}
	return time.Until(pair.Leaf.NotAfter) > renewBefore &&
		!slices.ContainsFunc(hosts, func(h string) bool { return pair.Leaf.VerifyHostname(h) != nil })
}

// mayReplace returns an error unless files are absent or hold a certificate of this CA. The key may
// belong to another certificate: a crash between the two writes of issue leaves it so.
func (a *authority) mayReplace(files Files) error {
	if present, err := exist(files.Cert, files.Key); err != nil || !present {
		return err
	}
	found, err := certutil.CertsFromFile(files.Cert)
	if err == nil {
		err = found[0].CheckSignatureFrom(a.cert)
	}
	if err != nil {
		return fmt.Errorf("%s was not issued by Sluice; not replaced: %w", files.Cert, err)
	}
	return nil
}

func (a *authority) issue(files Files, hosts []string) error {
	template, err := newTemplate("sluice", certLife)
	if err != nil {
		return err
	}
	template.KeyUsage = x509.KeyUsageDigitalSignature
	template.ExtKeyUsage = []x509.ExtKeyUsage{x509.ExtKeyUsageServerAuth}
	for _, h := range hosts {
		if ip := net.ParseIP(h); ip != nil {
			template.IPAddresses = append(template.IPAddresses, ip)
		} else {
			template.DNSNames = append(template.DNSNames, h)
		}
	}
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		return err
	}
	return write(template, a.cert, key, a.key, files.Cert, files.Key)
}

// write signs template for key and writes both files. It writes the key first, so that a certificate
// never exists without its key.
func write(template, parent *x509.Certificate, key *ecdsa.PrivateKey, signer crypto.Signer, certFile, keyFile string) error {
	der, err := x509.CreateCertificate(rand.Reader, template, parent, key.Public(), signer)
	if err != nil {
		return err
	}
	keyDER, err := x509.MarshalPKCS8PrivateKey(key)
	if err != nil {
		return err
	}
	if err := writePEM(keyFile, "PRIVATE KEY", keyDER, 0o600); err != nil {
		return err
	}
	return writePEM(certFile, "CERTIFICATE", der, 0o644)
}

// writePEM replaces path by a new file: nobody can have opened that file, or put a link in its place,
// before it has its mode.
func writePEM(path, kind string, der []byte, mode os.FileMode) (err error) {
	f, err := os.CreateTemp(filepath.Dir(path), "."+filepath.Base(path)+"-*") // mode 0600
	if err != nil {
		return err
	}
	defer func() {
		if err != nil {
			_ = os.Remove(f.Name())
		}
	}()
	err = errors.Join(pem.Encode(f, &pem.Block{Type: kind, Bytes: der}), f.Chmod(mode), f.Sync(), f.Close())
	if err != nil {
		return err
	}
	return os.Rename(f.Name(), path)
}
