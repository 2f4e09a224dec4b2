// Package docs holds the pages for people, of which the program prints one.
package docs

import _ "embed"

// Config is a configuration file that sets every field to its default, with the documentation of each.
//
//go:embed config.yaml
var Config []byte
