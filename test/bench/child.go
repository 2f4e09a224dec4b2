package main

import (
	"context"
	"encoding/json"
	"errors"
	"io"
	"os"
	"os/exec"
)

// child is a process of this program that does what it reads from stdin until that ends, and then writes what has
// come of it.
type child struct {
	cmd   *exec.Cmd
	stdin io.Closer
	out   io.Reader
}

// startChild runs this program with a command and an order.
func startChild(command string, order any) *child {
	c := &child{cmd: exec.Command(must(os.Executable()), command)}
	c.cmd.Stderr = os.Stderr
	stdin := must(c.cmd.StdinPipe())
	c.stdin, c.out = stdin, must(c.cmd.StdoutPipe())
	check(c.cmd.Start())
	if err := json.NewEncoder(stdin).Encode(order); err != nil {
		check(errors.Join(err, stdin.Close(), c.cmd.Wait()))
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
