package config

import _ "embed"

// Defaults is a configuration file that sets every field to its default, with the documentation of each.
//
//go:embed defaults.yaml
var Defaults []byte

// Schema is a JSON Schema (draft 2020-12) of the configuration file, by which editors complete and check it.
//
//go:embed schema.json
var Schema []byte
