// Package docs holds the pages for people, which the program prints and serves.
package docs

import "embed"

// Config is a configuration file that sets every field to its default, with the documentation of each.
//
//go:embed config.yaml
var Config []byte

// Files are the documents.
//
//go:embed *.md *.yaml
var Files embed.FS
