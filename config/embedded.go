package config

import _ "embed"

// Schema is a JSON Schema (draft 2020-12) of the configuration file, by which editors complete and check it.
//
//go:embed schema.json
var Schema []byte
