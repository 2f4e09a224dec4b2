package main

import (
	"context"
	"os"
	"os/exec"
	"runtime"
	"syscall"
)

// child is a part that runs in a process of its own, as a hidden sub-command of this program.
type child struct {
	log   string // the name of its log file
	args  []string
	files []*os.File // inherited, from descriptor 3 on
}

// runChild runs the child until ctx ends. It starts it when ready is closed, since what needs an
// apiserver gives up on one that takes its time. Should this process die by kill -9, the kernel ends
// the child too. The kernel watches the thread that forked, not the process, hence the lock.
func runChild(ctx context.Context, d directory, ready <-chan struct{}, c child) error {
	select {
	case <-ready:
	case <-ctx.Done():
		return nil
	}
	runtime.LockOSThread()
	defer runtime.UnlockOSThread()
	log, err := os.OpenFile(d.file(c.log), os.O_CREATE|os.O_WRONLY|os.O_APPEND, 0o600)
	if err != nil {
		return err
	}
	defer log.Close()
	cmd := exec.CommandContext(ctx, "/proc/self/exe", c.args...)
	cmd.Args[0] = os.Args[0] // what ps shows
	cmd.Stdout, cmd.Stderr, cmd.ExtraFiles = log, log, c.files
	cmd.SysProcAttr = &syscall.SysProcAttr{Pdeathsig: syscall.SIGKILL}
	return cmd.Run()
}
