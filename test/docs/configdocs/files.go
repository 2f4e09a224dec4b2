// Package configdocs makes the documentation of the configuration file of the comments on its types: the file with all
// defaults, its JSON Schema, and that of the chart's values, of which it is a part.
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
	schema, err := encode(fileSchema(all, docs))
	if err != nil {
		return nil, err
	}
	values, err := valuesFile(root, all, docs)
	return map[string][]byte{"docs/config.yaml": defaultsFile(all), "config/schema.json": schema, valuesSchema: values}, err
}
