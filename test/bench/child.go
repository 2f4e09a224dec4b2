package main

import (
	"errors"
	"io"
	"os"
	"os/exec"
)

// child is a process of this program that does what its arguments and its stdin say until that ends.
type child struct {
	cmd   *exec.Cmd
	stdin io.WriteCloser
	out   io.Reader
}

// startChild runs this program with a command and its arguments.
func startChild(command ...string) *child {
	c := &child{cmd: exec.Command(must(os.Executable()), command...)}
	c.cmd.Stderr = os.Stderr
	c.stdin, c.out = must(c.cmd.StdinPipe()), must(c.cmd.StdoutPipe())
	check(c.cmd.Start())
	return c
}

// stop ends the child.
func (c *child) stop() error {
	_ = c.stdin.Close()
	_, err := io.Copy(io.Discard, c.out)
	return errors.Join(err, c.cmd.Wait())
}
