// Package configdocs makes the documentation of the configuration file of the comments on its types: the file with all
// defaults, and its JSON Schema.
package configdocs

import (
	"path/filepath"
	"reflect"

	"sluice/config"
)

// Files returns the files by their paths in the repository, whose root it is given.
func Files(root string) (map[string][]byte, error) {
	docs, err := readDocumentation(filepath.Join(root, "config"))
	if err != nil {
		return nil, err
	}
	f := &config.File{}
	f.Default()
	all := fields(reflect.ValueOf(f).Elem(), docs)
	schema, err := schemaFile(all, docs)
	return map[string][]byte{"docs/config.yaml": defaultsFile(all), "config/schema.json": schema}, err
}
