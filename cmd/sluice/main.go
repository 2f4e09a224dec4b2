// Command sluice is a streaming gateway in front of a kube-apiserver: it serves lists and watches from
// its own watch cache and forwards everything else.
package main

import (
	"context"
	"fmt"
	"os"
	"os/signal"
	"path/filepath"
	"strings"
	"syscall"

	"github.com/spf13/cobra"
)

// version is set by the linker.
var version = "unknown"

func main() {
	args := os.Args[1:]
	if filepath.Base(os.Args[0]) == "kubectl_complete-sluice" { // kubectl runs it to complete kubectl sluice
		args = append([]string{cobra.ShellCompRequestCmd}, args...)
	}
	err := run(args)
	if err != nil && err != error(no{}) {
		fmt.Fprintln(os.Stderr, "sluice:", err)
	}
	os.Exit(exitCode(err))
}

// run runs a subcommand until it returns or a signal ends its context. A second signal kills the
// process.
func run(args []string) error {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	defer stop()
	context.AfterFunc(ctx, stop)
	return runWith(ctx, args)
}

// runWith runs a subcommand with a context.
func runWith(ctx context.Context, args []string) error {
	root := rootCommand()
	root.SetArgs(args)
	err := root.ExecuteContext(ctx)
	if err != nil && strings.HasPrefix(err.Error(), "unknown command") {
		err = fmt.Errorf("%w; sluice --help lists the commands", err)
	}
	return err
}

// isPlugin reports whether kubectl runs the program.
func isPlugin() bool { return filepath.Base(os.Args[0]) == "kubectl-sluice" }

func rootCommand() *cobra.Command {
	root := &cobra.Command{
		Use:           "sluice",
		Short:         "A streaming gateway in front of a kube-apiserver",
		SilenceUsage:  true,
		SilenceErrors: true,
		Version:       versionText(),
	}
	root.SetVersionTemplate("{{.Version}}")
	root.SetFlagErrorFunc(func(c *cobra.Command, err error) error { return fmt.Errorf("%w; see %s --help", err, c.CommandPath()) })
	config := configCommand()
	root.AddCommand(serveCommand(), config, kubeconfigCommand(), certificateCommand(), verifyCommand(), statusCommand(),
		versionCommand())
	root.AddCommand(whyCommand(), clientsCommand(), watchesCommand(), bundleCommand())
	if isPlugin() {
		root.Annotations = map[string]string{cobra.CommandDisplayNameAnnotation: "kubectl sluice"}
		for _, c := range append(root.Commands(), config.Commands()...) {
			c.Example = strings.ReplaceAll(c.Example, "sluice ", "kubectl sluice ")
		}
	}
	return root
}
