package main

import (
	"context"
	"encoding/json"
	"errors"
	"io"
	"os"
	"os/exec"
)

// child is a process of this program that does what its arguments and its stdin say until that ends, and may then write
// what has come of it.
type child struct {
	cmd   *exec.Cmd
	stdin io.WriteCloser
	out   io.Reader
}

// startChild runs this program with a command and its arguments, and variables of its environment.
func startChild(environment []string, command ...string) *child {
	c := &child{cmd: exec.Command(must(os.Executable()), command...)}
	c.cmd.Env, c.cmd.Stderr = append(os.Environ(), environment...), os.Stderr
	c.stdin, c.out = must(c.cmd.StdinPipe()), must(c.cmd.StdoutPipe())
	check(c.cmd.Start())
	return c
}

// startOrder runs this program with a command and an order on its stdin.
func startOrder(command string, order any) *child {
	c := startChild(nil, command)
	if err := json.NewEncoder(c.stdin).Encode(order); err != nil {
		check(errors.Join(err, c.stop(nil)))
	}
	return c
}

// stop ends the child and reads its result, unless into is nil.
func (c *child) stop(into any) error {
	_ = c.stdin.Close()
	var err error
	if into != nil {
		err = json.NewDecoder(c.out).Decode(into)
	}
	_, _ = io.Copy(io.Discard, c.out)
	return errors.Join(err, c.cmd.Wait())
}

// takeOrder reads the order in the child. The context ends with stdin.
func takeOrder(ctx context.Context, stdin io.Reader, order any) (context.Context, context.CancelFunc) {
	in := json.NewDecoder(stdin)
	check(in.Decode(order))
	ctx, cancel := context.WithCancel(ctx)
	go func() {
		defer cancel()
		_, _ = io.Copy(io.Discard, io.MultiReader(in.Buffered(), stdin))
	}()
	return ctx, cancel
}
