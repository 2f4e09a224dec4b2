package config

import (
	"fmt"
	"os"

	"sigs.k8s.io/yaml"
)

// Load reads a configuration file, YAML or JSON. An unknown or duplicate field is an error.
func Load(path string) (*File, error) {
	raw, err := os.ReadFile(path)
	if err != nil {
		return nil, fmt.Errorf("configuration: %w", err)
	}
	f := &File{}
	if err := yaml.UnmarshalStrict(raw, f); err != nil {
		return nil, fmt.Errorf("configuration %s: %w", path, err)
	}
	if f.APIVersion != APIVersion || f.Kind != Kind {
		return nil, fmt.Errorf("configuration %s: is %s %s, must be %s %s", path, f.APIVersion, f.Kind, APIVersion, Kind)
	}
	return f, nil
}
