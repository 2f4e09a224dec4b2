package certs

import (
	"bytes"
	"context"
	"crypto/x509"
	"os"
	"path/filepath"
	"testing"
	"testing/synctest"
	"time"

	"go.uber.org/zap"

	"sluice/config/files"
)

func TestEnsureKeepsTheCAAndReissuesForNewHosts(t *testing.T) {
	dir := t.TempDir()
	first, err := Ensure(dir, []string{"127.0.0.1", "localhost"})
	if err != nil {
		t.Fatal(err)
	}
	read := func(path string) []byte {
		t.Helper()
		b, err := os.ReadFile(path)
		if err != nil {
			t.Fatal(err)
		}
		return b
	}
	ca, cert := read(first.CA), read(first.Cert)
	second, err := Ensure(dir, []string{"localhost"})
	if err != nil {
		t.Fatal(err)
	}
	if !bytes.Equal(cert, read(first.Cert)) {
		t.Error("a valid certificate was replaced")
	}
	third, err := Ensure(dir, []string{"other.example"})
	if err != nil {
		t.Fatal(err)
	}
	if !bytes.Equal(ca, read(first.CA)) {
		t.Error("the CA was replaced")
	}
	if !first.Issued || second.Issued || !third.Issued {
		t.Errorf("issued %t, %t, %t", first.Issued, second.Issued, third.Issued)
	}
	r, err := NewReloader(first.Cert, first.Key, zap.NewNop())
	if err != nil {
		t.Fatal(err)
	}
	roots := x509.NewCertPool()
	roots.AppendCertsFromPEM(ca)
	pair := r.last.Load()
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
		issue := func() []byte {
			t.Helper()
			issued, err := Ensure(t.TempDir(), []string{"a.example"})
			if err != nil {
				t.Fatal(err)
			}
			text, err := os.ReadFile(issued.CA)
			if err != nil {
				t.Fatal(err)
			}
			return text
		}
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
		ctx, cancel := context.WithCancel(t.Context())
		done := make(chan error)
		go func() { done <- ca.Run(ctx) }()
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
		cancel()
		if err := <-done; err != nil {
			t.Error(err)
		}
	})
}

// A mounted secret changes when a symbolic link two levels up is replaced.
func TestReloaderFollowsMountedSecrets(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		mount := t.TempDir()
		for _, version := range []string{"v1", "v2"} {
			if _, err := Ensure(filepath.Join(mount, version), []string{version + ".example"}); err != nil {
				t.Fatal(err)
			}
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
		r, err := NewReloader(filepath.Join(mount, "data", "tls.crt"), filepath.Join(mount, "data", "tls.key"), zap.NewNop())
		if err != nil {
			t.Fatal(err)
		}
		ctx, cancel := context.WithCancel(t.Context())
		done := make(chan error)
		go func() { done <- r.Run(ctx) }()
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
		cancel()
		if err := <-done; err != nil {
			t.Error(err)
		}
	})
}
