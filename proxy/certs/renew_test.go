package certs

import (
	"crypto/x509"
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"testing"
	"testing/synctest"
	"time"

	"go.uber.org/zap"
)

func TestARunningProcessServesARenewedCertificateOfTheSameCA(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		dir, hosts := t.TempDir(), []string{"a.example"}
		files := ensure(t, dir, hosts...)
		roots := x509.NewCertPool()
		roots.AppendCertsFromPEM(read(t, files.CA))
		r := reloader(t, files)
		first := r.last.Load().Leaf
		go func() { _ = Renew(t.Context(), dir, hosts, zap.NewNop()) }()
		time.Sleep(59 * 24 * time.Hour) // virtual
		go func() { _ = r.Run(t.Context()) }()
		served := func() *x509.Certificate {
			synctest.Wait()
			leaf := r.last.Load().Leaf
			if _, err := leaf.Verify(x509.VerifyOptions{Roots: roots, DNSName: hosts[0], CurrentTime: time.Now()}); err != nil {
				t.Error(err)
			}
			return leaf
		}
		if !served().Equal(first) {
			t.Error("a certificate was renewed too early")
		}
		time.Sleep(2 * 24 * time.Hour)
		if renewed := served(); renewed.Equal(first) || time.Until(renewed.NotAfter) < 88*24*time.Hour {
			t.Errorf("after 61 days the certificate is valid until %s", renewed.NotAfter)
		}
	})
}

func TestRenewalMakesNoCA(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		dir := filepath.Join(t.TempDir(), "certs")
		ensure(t, dir)
		if err := os.RemoveAll(dir); err != nil {
			t.Fatal(err)
		}
		go func() { _ = Renew(t.Context(), dir, nil, zap.NewNop()) }()
		time.Sleep(2 * renewEvery)
		synctest.Wait()
		if _, err := os.Stat(dir); !errors.Is(err, fs.ErrNotExist) {
			t.Errorf("the directory is back: %v", err)
		}
	})
}
