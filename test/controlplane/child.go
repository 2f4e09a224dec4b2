package main

import (
	"context"
	"os"
	"os/exec"
	"runtime"
	"syscall"
)

// child is a component that runs in a separate process, as a hidden subcommand of this program.
type child struct {
	log   string // the name of its log file
	args  []string
	files []*os.File // inherited, from descriptor 3 on
}

// runChild starts the child when ready is closed, because components exit when the apiserver is not
// ready for long, and runs it until ctx ends. If this process is killed, Pdeathsig kills the child. It
// works per thread, so runChild locks the thread that forks.
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
	cmd.Args[0] = os.Args[0] // for ps
	cmd.Stdout, cmd.Stderr, cmd.ExtraFiles = log, log, c.files
	cmd.SysProcAttr = &syscall.SysProcAttr{Pdeathsig: syscall.SIGKILL}
	return cmd.Run()
}
