package certs

import (
	"bytes"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

func TestEnsureReplacesNoFilesOfOthers(t *testing.T) {
	tests := []struct {
		name    string
		foreign []string // files with content that is not Sluice's
		issued  bool     // Ensure ran before
		want    string
	}{
		{"CA without key", []string{"ca.crt"}, false, "exists without"},
		{"CA key alone", []string{"ca.key"}, false, "exists without"},
		{"certificate without key", []string{"tls.crt"}, false, "exists without"},
		{"key alone", []string{"tls.key"}, false, "exists without"},
		{"certificate and key", []string{"tls.crt", "tls.key"}, false, "not replaced"},
		{"certificate in place of Sluice's", []string{"tls.crt"}, true, "not replaced"},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			dir, content := t.TempDir(), []byte("precious")
			if tt.issued {
				ensure(t, dir, "a.example")
			}
			for _, name := range tt.foreign {
				if err := os.WriteFile(filepath.Join(dir, name), content, 0o600); err != nil {
					t.Fatal(err)
				}
			}
			if _, err := Ensure(dir, []string{"b.example"}); err == nil || !strings.Contains(err.Error(), tt.want) {
				t.Errorf("got %v, want an error with %q", err, tt.want)
			}
			for _, name := range tt.foreign {
				if got, err := os.ReadFile(filepath.Join(dir, name)); err != nil || !bytes.Equal(got, content) {
					t.Errorf("%s was changed: %v", name, err)
				}
			}
		})
	}
}

func TestCertificateOfAnotherCAIsNotReplaced(t *testing.T) {
	dir, other := t.TempDir(), t.TempDir()
	for _, d := range []string{dir, other} {
		ensure(t, d, "a.example")
	}
	for _, name := range []string{"tls.crt", "tls.key"} {
		if err := os.Rename(filepath.Join(other, name), filepath.Join(dir, name)); err != nil {
			t.Fatal(err)
		}
	}
	if _, err := Ensure(dir, []string{"a.example"}); err == nil || !strings.Contains(err.Error(), "was not issued by Sluice") {
		t.Errorf("got %v", err)
	}
}

func TestKeysAreOfTheirOwnerAlone(t *testing.T) {
	dir := t.TempDir()
	for _, path := range []string{ensure(t, dir, "a.example").Key, filepath.Join(dir, "ca.key")} {
		if info, err := os.Lstat(path); err != nil || info.Mode() != 0o600 {
			t.Errorf("%s: %v, %v", path, info, err)
		}
	}
}
