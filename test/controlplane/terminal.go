package main

import (
	"os"

	"golang.org/x/sys/unix"
)

// terminal is what stdout and stderr were at the start.
type terminal struct{ out, err *os.File }

// redirect sends the process' stdout and stderr to a log file, at the level of descriptors: klog,
// the Go runtime's panics and any stray Println end there, so that the one line a caller waits for
// is the only one it reads.
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

// replace puts f in the place of descriptor fd and returns what was there.
func replace(fd int, f *os.File, name string) (*os.File, error) {
	old, err := unix.FcntlInt(uintptr(fd), unix.F_DUPFD_CLOEXEC, 0)
	if err != nil {
		return nil, err
	}
	return os.NewFile(uintptr(old), name), unix.Dup3(int(f.Fd()), fd, 0)
}
