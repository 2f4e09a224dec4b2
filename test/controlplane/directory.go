package main

import (
	"os"
	"path/filepath"
)

// directory is where one control plane keeps everything, as an absolute path so that kubeconfigs
// work from anywhere.
type directory string

func openDirectory(path string) (directory, error) {
	abs, err := filepath.Abs(path)
	if err != nil {
		return "", err
	}
	return directory(abs), os.MkdirAll(abs, 0o700)
}

// file is the path of the file with this name.
func (d directory) file(name string) string { return filepath.Join(string(d), name) }

// write replaces the file in one step: a reader, or a start after a kill -9, never sees half of it.
func (d directory) write(name string, content []byte) error {
	tmp := d.file("." + name)
	if err := os.WriteFile(tmp, content, 0o600); err != nil {
		return err
	}
	return os.Rename(tmp, d.file(name))
}
