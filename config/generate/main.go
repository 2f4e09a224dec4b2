// Generate writes the files that package config embeds: the configuration file with all defaults, and its JSON
// Schema. Both hold the comments of the types that the package defines.
package main

import (
	"fmt"
	"os"
	"path/filepath"
	"reflect"

	"sluice/config"
)

// main runs in the directory of package config.
func main() {
	files, err := generate(".")
	for name, text := range files {
		if err == nil {
			err = os.WriteFile(name, text, 0o644)
		}
	}
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
}

// generate returns the files, by name, for the types in a directory.
func generate(dir string) (map[string][]byte, error) {
	docs, err := readDocumentation(dir)
	if err != nil {
		return nil, err
	}
	f := &config.File{}
	f.Default()
	all := fields(reflect.ValueOf(f).Elem(), docs)
	schema, err := schemaFile(all, docs)
	return map[string][]byte{filepath.Join(dir, "defaults.yaml"): defaultsFile(all), filepath.Join(dir, "schema.json"): schema}, err
}
