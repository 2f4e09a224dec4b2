package main

import (
	"archive/tar"
	"bytes"
	"io"
	"time"
)

// entry is a file, or with a name that ends in a slash a directory, of a tar archive.
type entry struct {
	name  string // without a slash in front
	mode  int64
	owner int // user and group; the names are left empty
	data  []byte
	link  string // the target of a symbolic link
}

// writeTar writes entries in their order. Parents must stand before their entries.
func writeTar(w io.Writer, entries []entry, at time.Time) error {
	t := tar.NewWriter(w)
	for _, e := range entries {
		h := &tar.Header{
			Typeflag: tar.TypeReg, Name: e.name, Mode: e.mode, Size: int64(len(e.data)),
			Uid: e.owner, Gid: e.owner, ModTime: at, Format: tar.FormatUSTAR,
		}
		switch {
		case e.name[len(e.name)-1] == '/':
			h.Typeflag = tar.TypeDir
		case e.link != "":
			h.Typeflag, h.Linkname = tar.TypeSymlink, e.link
		}
		if err := t.WriteHeader(h); err != nil {
			return err
		}
		if _, err := t.Write(e.data); err != nil {
			return err
		}
	}
	return t.Close()
}

func tarBytes(entries []entry, at time.Time) ([]byte, error) {
	var b bytes.Buffer
	err := writeTar(&b, entries, at)
	return b.Bytes(), err
}
