package cluster

import (
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"os/signal"
	"runtime"
	"syscall"
)

// The test program starts itself three times over, and stageVariable tells each process what it is:
//
//	(unset)  the process that go test has started
//	guard    outlives the first one, and cleans up what namespaces do not: cgroups
//	init     process 1 of new namespaces; when it ends, the kernel ends everything in them
//	inside   runs the tests
const stageVariable = "CLUSTER_STAGE"

const (
	guardStage  = "guard"
	initStage   = "init"
	insideStage = "inside"
)

// self returns a command that runs this program in another stage, with the same flags.
func self(stage string) *exec.Cmd {
	cmd := exec.Command("/proc/self/exe", os.Args[1:]...)
	cmd.Args[0] = os.Args[0] // for ps
	cmd.Env = append(os.Environ(), stageVariable+"="+stage)
	cmd.Stdout, cmd.Stderr = os.Stdout, os.Stderr
	return cmd
}

// enter runs the guard and returns its exit code. The guard sees the end of this process, even by
// SIGKILL, as the end of its input.
func enter() (int, error) {
	r, w, err := os.Pipe()
	if err != nil {
		return 1, err
	}
	defer w.Close()
	cmd := self(guardStage)
	cmd.Stdin = r
	cmd.SysProcAttr = &syscall.SysProcAttr{Setsid: true} // a Ctrl-C must not reach it
	return exitCode(cmd.Run())
}

// guard runs init until it ends or the input ends. It fails if something that namespaces do not
// contain is not as before.
func guard() (code int, err error) {
	signal.Ignore(syscall.SIGINT, syscall.SIGTERM, syscall.SIGHUP, syscall.SIGPIPE)
	runtime.LockOSThread() // Pdeathsig refers to the thread that forks
	before := kernelSettings()
	if err := makeCgroups(); err != nil {
		return 1, err
	}
	defer func() {
		if err = errors.Join(err, removeCgroups(), before.check()); err != nil {
			code = 1
		}
	}()
	cmd := self(initStage)
	cmd.SysProcAttr = &syscall.SysProcAttr{
		Cloneflags: syscall.CLONE_NEWNS | syscall.CLONE_NEWPID | syscall.CLONE_NEWNET | syscall.CLONE_NEWIPC | syscall.CLONE_NEWUTS,
		Pdeathsig:  syscall.SIGKILL,
	}
	if err := cmd.Start(); err != nil {
		return 1, fmt.Errorf("new namespaces: %w", err)
	}
	go func() {
		_, _ = io.Copy(io.Discard, os.Stdin)
		_ = cmd.Process.Kill()
	}()
	return exitCode(cmd.Wait())
}

// runInit prepares the namespaces, runs the tests, and reaps the orphans that process 1 inherits.
func runInit() (int, error) {
	if err := isolate(); err != nil {
		return 1, err
	}
	cmd := self(insideStage)
	cmd.Env = append(cmd.Env, "TMPDIR="+scratch)
	// Wait4 below must find the child, so os/exec may not wait for it.
	child, err := syscall.ForkExec(cmd.Path, cmd.Args, &syscall.ProcAttr{Env: cmd.Environ(), Files: []uintptr{0, 1, 2}})
	if err != nil {
		return 1, err
	}
	for {
		var status syscall.WaitStatus
		pid, err := syscall.Wait4(-1, &status, 0, nil)
		if errors.Is(err, syscall.EINTR) {
			continue
		}
		if err != nil {
			return 1, fmt.Errorf("wait: %w", err)
		}
		if pid == child {
			if status.Signaled() {
				return 128 + int(status.Signal()), nil
			}
			return status.ExitStatus(), nil
		}
	}
}

// exitCode returns the code of a process that has ended, and other errors as they are.
func exitCode(err error) (int, error) {
	var exit *exec.ExitError
	switch {
	case err == nil:
		return 0, nil
	case errors.As(err, &exit):
		return max(exit.ExitCode(), 1), nil // a signal has no code
	}
	return 1, err
}
