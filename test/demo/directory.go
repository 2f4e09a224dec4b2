package main

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"

	"golang.org/x/sys/unix"
)

// lockName is the file that marks a demo's directory; it is locked while the demo runs.
const lockName = "demo.lock"

// directory belongs to one running demo.
type directory struct {
	path string
	lock *os.File
}

// claim creates the directory, or clears one that a killed demo left. It fails for a directory without the
// lock file and for one whose demo still runs.
func claim(path string) (*directory, error) {
	path, err := filepath.Abs(path)
	if err != nil {
		return nil, err
	}
	entries, err := os.ReadDir(path)
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return nil, err
	}
	isLock := func(e fs.DirEntry) bool { return e.Name() == lockName }
	if len(entries) > 0 && !slices.ContainsFunc(entries, isLock) {
		return nil, fmt.Errorf("%s holds files that no demo created: choose another --dir", path)
	}
	if err := os.MkdirAll(path, 0o700); err != nil {
		return nil, err
	}
	d := &directory{path: path}
	if d.lock, err = os.OpenFile(d.file(lockName), os.O_CREATE|os.O_RDWR, 0o600); err != nil {
		return nil, err
	}
	if err := unix.Flock(int(d.lock.Fd()), unix.LOCK_EX|unix.LOCK_NB); err != nil {
		d.lock.Close()
		return nil, fmt.Errorf("another demo runs in %s: choose another --dir", path)
	}
	return d, d.clear(entries)
}

// clear removes all entries except the lock file.
func (d *directory) clear(entries []fs.DirEntry) error {
	var errs []error
	for _, e := range entries {
		if e.Name() != lockName {
			errs = append(errs, os.RemoveAll(d.file(e.Name())))
		}
	}
	return errors.Join(errs...)
}

// remove removes the directory, then releases the lock.
func (d *directory) remove() error {
	return errors.Join(os.RemoveAll(d.path), d.lock.Close())
}

// file returns the path of a file in the directory.
func (d *directory) file(name string) string { return filepath.Join(d.path, name) }
