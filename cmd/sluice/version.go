package main

import (
	"fmt"
	"runtime"

	"github.com/spf13/cobra"
)

func versionCommand() *cobra.Command {
	return &cobra.Command{
		Use:     "version",
		Short:   "Print the version",
		Example: "  sluice version",
		Args:    cobra.NoArgs,
		RunE:    func(c *cobra.Command, _ []string) error { return write(c, []byte(versionText())) },
	}
}

func versionText() string {
	return fmt.Sprintf("sluice %s %s %s/%s\n", version, runtime.Version(), runtime.GOOS, runtime.GOARCH)
}
