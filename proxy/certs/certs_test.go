package certs

import (
	"bytes"
	"crypto/x509"
	"os"
	"path/filepath"
	"testing"
	"testing/synctest"
	"time"

	"go.uber.org/zap"

	"sluice/config/files"
)

// ensure calls Ensure, which must succeed.
func ensure(t *testing.T, dir string, hosts ...string) Files {
	t.Helper()
	files, err := Ensure(dir, hosts)
	if err != nil {
		t.Fatal(err)
	}
	return files
}

func read(t *testing.T, path string) []byte {
	t.Helper()
	b, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	return b
}

// reloader returns a Reloader of a certificate.
func reloader(t *testing.T, files Files) *Reloader {
	t.Helper()
	r, err := NewReloader(files.Cert, files.Key, zap.NewNop())
	if err != nil {
		t.Fatal(err)
	}
	return r
}

func TestEnsureKeepsTheCAAndReissuesForNewHosts(t *testing.T) {
	dir := t.TempDir()
	first := ensure(t, dir, "127.0.0.1", "localhost")
	ca, cert := read(t, first.CA), read(t, first.Cert)
	second := ensure(t, dir, "localhost")
	if !bytes.Equal(cert, read(t, first.Cert)) {
		t.Error("a valid certificate was replaced")
	}
	third := ensure(t, dir, "other.example")
	if !bytes.Equal(ca, read(t, first.CA)) {
		t.Error("the CA was replaced")
	}
	if !first.Issued || second.Issued || !third.Issued {
		t.Errorf("issued %t, %t, %t", first.Issued, second.Issued, third.Issued)
	}
	roots := x509.NewCertPool()
	roots.AppendCertsFromPEM(ca)
	pair := reloader(t, first).last.Load()
	if _, err := pair.Leaf.Verify(x509.VerifyOptions{Roots: roots, DNSName: "other.example"}); err != nil {
		t.Errorf("the new certificate does not verify: %v", err)
	}
}

func TestTheCAOfClientsFollowsItsFile(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		path := filepath.Join(t.TempDir(), "ca.crt")
		write := func(text []byte) {
			t.Helper()
			if err := os.WriteFile(path, text, 0o600); err != nil {
				t.Fatal(err)
			}
		}
		issue := func() []byte { return read(t, ensure(t, t.TempDir(), "a.example").CA) }
		for _, text := range []string{"", "no certificate"} {
			write([]byte(text))
			if _, err := NewCA(path, zap.NewNop()); err == nil {
				t.Errorf("no error for %q", text)
			}
		}
		write(issue())
		ca, err := NewCA(path, zap.NewNop())
		if err != nil {
			t.Fatal(err)
		}
		go func() { _ = ca.Run(t.Context()) }()
		becomes := func(text []byte, want []byte) {
			t.Helper()
			write(text)
			time.Sleep(3 * files.Interval) // virtual
			synctest.Wait()
			roots := x509.NewCertPool()
			roots.AppendCertsFromPEM(want)
			if !ca.Roots().Equal(roots) {
				t.Error("another CA is trusted")
			}
		}
		first, second := issue(), issue()
		becomes(first, first)
		becomes([]byte("no certificate"), first)
		becomes(second, second)
	})
}

// A mounted secret changes when a symbolic link two levels up is replaced.
func TestReloaderFollowsMountedSecrets(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		mount := t.TempDir()
		for _, version := range []string{"v1", "v2"} {
			ensure(t, filepath.Join(mount, version), version+".example")
		}
		point := func(version string) {
			if err := os.Symlink(version, filepath.Join(mount, "next")); err != nil {
				t.Fatal(err)
			}
			if err := os.Rename(filepath.Join(mount, "next"), filepath.Join(mount, "data")); err != nil {
				t.Fatal(err)
			}
		}
		point("v1")
		r := reloader(t, Files{Cert: filepath.Join(mount, "data", "tls.crt"), Key: filepath.Join(mount, "data", "tls.key")})
		go func() { _ = r.Run(t.Context()) }()
		serves := func(name string) {
			t.Helper()
			time.Sleep(3 * files.Interval) // virtual
			synctest.Wait()
			pair := r.last.Load()
			if err := pair.Leaf.VerifyHostname(name); err != nil {
				t.Error(err)
			}
		}
		serves("v1.example")
		point("missing")
		serves("v1.example")
		point("v2")
		serves("v2.example")
	})
}
