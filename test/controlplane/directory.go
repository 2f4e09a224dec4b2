package main

import (
	"os"
	"path/filepath"
)

// directory is the absolute path of the directory of a control plane.
type directory string

func openDirectory(path string) (directory, error) {
	abs, err := filepath.Abs(path)
	if err != nil {
		return "", err
	}
	return directory(abs), os.MkdirAll(abs, 0o700)
}

// file returns the path of a file.
func (d directory) file(name string) string { return filepath.Join(string(d), name) }

// write replaces a file atomically.
func (d directory) write(name string, content []byte) error {
	tmp := d.file("." + name)
	if err := os.WriteFile(tmp, content, 0o600); err != nil {
		return err
	}
	return os.Rename(tmp, d.file(name))
}
