package main

import (
	"errors"
	"fmt"

	"github.com/spf13/cobra"

	"sluice/config"
	"sluice/docs"
)

func configCommand() *cobra.Command {
	c := &cobra.Command{
		Use:   "config",
		Short: "Check configuration files, print the defaults or a schema",
		Args:  cobra.NoArgs,
		RunE:  func(c *cobra.Command, _ []string) error { return c.Help() },
	}
	c.AddCommand(&cobra.Command{
		Use:     "check FILE...",
		Short:   "Report every problem of configuration files, with its place",
		Example: "  sluice config check sluice.yaml",
		RunE:    checkFiles,
	}, &cobra.Command{
		Use:     "defaults",
		Short:   "Print a configuration file with all defaults and comments",
		Example: "  sluice config defaults > sluice.yaml",
		Args:    cobra.NoArgs,
		RunE:    func(c *cobra.Command, _ []string) error { return write(c, docs.Config) },
	}, &cobra.Command{
		Use:     "schema",
		Short:   "Print the JSON Schema of configuration files, for editors",
		Example: "  sluice config schema > sluice.schema.json",
		Args:    cobra.NoArgs,
		RunE:    func(c *cobra.Command, _ []string) error { return write(c, config.Schema) },
	})
	return c
}

func write(c *cobra.Command, text []byte) error {
	_, err := c.OutOrStdout().Write(text)
	return err
}

// checkFiles prints the problems of all files, one in a line, before it fails.
func checkFiles(c *cobra.Command, paths []string) error {
	if len(paths) == 0 {
		return errors.New("name the files to check")
	}
	invalid := false
	for _, path := range paths {
		document, err := config.Read(path)
		if err == nil {
			err = document.Check()
		}
		if err != nil {
			invalid = true
			fmt.Fprintln(c.ErrOrStderr(), err)
			continue
		}
		fmt.Fprintf(c.OutOrStdout(), "%s: valid\n", path)
	}
	if invalid {
		return no{errors.New("the configuration is not valid")}
	}
	return nil
}
