package main

import (
	"os"

	"golang.org/x/sys/unix"
)

// terminal holds the original stdout and stderr.
type terminal struct{ out, err *os.File }

// redirect replaces the file descriptors of stdout and stderr by a log file, for klog, panics of the Go
// runtime and any other output, so that a caller reads only the line that it waits for.
func redirect(log string) (terminal, error) {
	f, err := os.OpenFile(log, os.O_CREATE|os.O_WRONLY|os.O_APPEND, 0o600)
	if err != nil {
		return terminal{}, err
	}
	defer f.Close()
	out, err := replace(unix.Stdout, f, "stdout")
	if err != nil {
		return terminal{}, err
	}
	errs, err := replace(unix.Stderr, f, "stderr")
	return terminal{out, errs}, err
}

// replace duplicates f to descriptor fd and returns the former file.
func replace(fd int, f *os.File, name string) (*os.File, error) {
	old, err := unix.FcntlInt(uintptr(fd), unix.F_DUPFD_CLOEXEC, 0)
	if err != nil {
		return nil, err
	}
	return os.NewFile(uintptr(old), name), unix.Dup3(int(f.Fd()), fd, 0)
}
