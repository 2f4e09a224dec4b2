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

// lockName is the file that marks a directory as a demo's and is locked while the demo runs.
const lockName = "demo.lock"

// directory belongs to one demo as long as that runs.
type directory struct {
	path string
	lock *os.File
}

// claim makes the directory, or clears one that a demo left behind. It leaves alone what is not a
// demo's, or is another's that still runs.
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
		return nil, fmt.Errorf("%s holds something that is not a demo's: give another --dir", path)
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
		return nil, fmt.Errorf("another demo runs in %s: give another --dir", path)
	}
	return d, d.clear(entries)
}

// clear removes what was found, but the lock.
func (d *directory) clear(entries []fs.DirEntry) error {
	var errs []error
	for _, e := range entries {
		if e.Name() != lockName {
			errs = append(errs, os.RemoveAll(d.file(e.Name())))
		}
	}
	return errors.Join(errs...)
}

// remove removes the directory and gives up the lock, in this order.
func (d *directory) remove() error {
	return errors.Join(os.RemoveAll(d.path), d.lock.Close())
}

// file is the path of the file with this name.
func (d *directory) file(name string) string { return filepath.Join(d.path, name) }
