package main

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
)

func TestDirectoryIsLockedByOneDemo(t *testing.T) {
	path := filepath.Join(t.TempDir(), "demo")
	first, err := claim(path)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := claim(path); err == nil || !strings.Contains(err.Error(), "another demo runs") {
		t.Errorf("a second demo got %v", err)
	}
	if err := first.remove(); err != nil {
		t.Error(err)
	}
	if _, err := os.Stat(path); !os.IsNotExist(err) {
		t.Errorf("directory: %v", err)
	}
}

func TestNextDemoClearsDirectoryOfKilledDemo(t *testing.T) {
	path := t.TempDir()
	for _, name := range []string{lockName, "left"} {
		if err := os.WriteFile(filepath.Join(path, name), nil, 0o600); err != nil {
			t.Fatal(err)
		}
	}
	d, err := claim(path)
	if err != nil {
		t.Fatal(err)
	}
	defer d.remove()
	if _, err := os.Stat(d.file("left")); !os.IsNotExist(err) {
		t.Errorf("what a killed demo left: %v", err)
	}
}

func TestForeignDirectoryIsRefused(t *testing.T) {
	path := t.TempDir()
	precious := filepath.Join(path, "precious")
	if err := os.WriteFile(precious, nil, 0o600); err != nil {
		t.Fatal(err)
	}
	if _, err := claim(path); err == nil {
		t.Error("claimed")
	}
	if _, err := os.Stat(precious); err != nil {
		t.Error(err)
	}
}
