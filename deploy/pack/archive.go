package main

import (
	"compress/gzip"
	"io"
	"os"
	"path"
	"path/filepath"
	"slices"
	"strings"
)

// writeArchive writes a tar.gz of files, below one directory that has the archive's name. Arguments are
// PATH=FILE; a file that may be executed keeps that, and a symbolic link stays one.
func writeArchive(o options, args []string) error {
	top := strings.TrimSuffix(filepath.Base(o.out), ".tar.gz")
	entries := []entry{{name: top + "/", mode: 0o755}}
	for _, arg := range args {
		name, file, err := assignment(arg)
		if err != nil {
			return err
		}
		e, err := readEntry(path.Join(top, name), file)
		if err != nil {
			return err
		}
		entries = append(entries, e)
	}
	slices.SortFunc(entries, func(a, b entry) int { return strings.Compare(a.name, b.name) })
	return create(o.out, func(w io.Writer) error {
		z, err := gzip.NewWriterLevel(w, gzip.BestCompression)
		if err != nil {
			return err
		}
		if err := writeTar(z, entries, o.epoch); err != nil {
			return err
		}
		return z.Close()
	})
}

func readEntry(name, file string) (entry, error) {
	e := entry{name: name, mode: 0o644}
	info, err := os.Lstat(file)
	switch {
	case err != nil:
		return e, err
	case info.Mode()&os.ModeSymlink != 0:
		e.mode = 0o777
		e.link, err = os.Readlink(file)
		return e, err
	case info.Mode()&0o100 != 0:
		e.mode = 0o755
	}
	e.data, err = os.ReadFile(file)
	return e, err
}
