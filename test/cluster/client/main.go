// Client is what runs in the containers of test/cluster: an unmodified client-go client with an
// in-cluster configuration, behind an HTTP server that tells what the client sees, and the few commands
// that kubectl exec and attach need in a container without a shell.
//
//	client serve   the client; answers on port 8080 (see serve.go)
//	client pause   waits for SIGTERM, as the container of a pod's sandbox does
//	client cat     copies its input to its output
//	client lines N prints N numbered lines
//	client echo    writes its arguments, and exits with 3 if the first is "fail"
package main

import (
	"fmt"
	"io"
	"os"
	"os/signal"
	"strconv"
	"strings"
	"syscall"
)

var commands = map[string]func(args []string) error{
	"serve": serve,
	"pause": func([]string) error { pause(); return nil },
	"cat":   func([]string) error { _, err := io.Copy(os.Stdout, os.Stdin); return err },
	"lines": lines,
	"echo":  echo,
}

func main() {
	if err := commands[os.Args[1]](os.Args[2:]); err != nil {
		fmt.Fprintln(os.Stderr, "client:", err)
		os.Exit(1)
	}
}

func pause() {
	stop := make(chan os.Signal, 1)
	signal.Notify(stop, syscall.SIGTERM, syscall.SIGINT)
	<-stop
}

func lines(args []string) error {
	n, err := strconv.Atoi(strings.Join(args, ""))
	for i := range n {
		fmt.Println("line", i)
	}
	return err
}

func echo(args []string) error {
	fmt.Println(strings.Join(args, " "))
	if len(args) > 0 && args[0] == "fail" {
		fmt.Fprintln(os.Stderr, "failed as asked")
		os.Exit(3)
	}
	return nil
}
