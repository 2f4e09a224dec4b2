package configdocs

import (
	"bytes"
	"encoding/json"
	"os"
	"path/filepath"
	"reflect"

	"sluice/config"
)

// durationPattern matches what time.ParseDuration parses, without signs.
const durationPattern = `^(0|([0-9]+(\.[0-9]*)?(ns|us|µs|ms|s|m|h))+)$`

// bytesPattern matches what resource.ParseQuantity parses, without signs, exponents and thousandths.
const bytesPattern = `^[0-9]+(\.[0-9]+)?(k|[MGTPE]|[KMGTPE]i)?$`

// schema is a JSON Schema.
type schema map[string]any

// valuesSchema is the JSON Schema of the chart's values.
const valuesSchema = "deploy/helm/sluice/values.schema.json"

// valuesFile returns the schema of the chart's values with that of the configuration: helm refuses then what Sluice would.
func valuesFile(root string, all []field, docs documentation) ([]byte, error) {
	text, err := os.ReadFile(filepath.Join(root, valuesSchema))
	if err != nil {
		return nil, err
	}
	var values map[string]any
	if err := json.Unmarshal(text, &values); err != nil {
		return nil, err
	}
	part := fileSchema(all, docs)
	for _, ofFiles := range []string{"$schema", "title", "required"} {
		delete(part, ofFiles)
	}
	values["properties"].(map[string]any)["config"] = part
	return encode(values)
}

// fileSchema returns a JSON Schema (draft 2020-12) of the configuration file, by which editors complete and check it.
func fileSchema(all []field, docs documentation) schema {
	s := objectSchema(all, docs)
	s["$schema"], s["title"] = "https://json-schema.org/draft/2020-12/schema", "Configuration of Sluice"
	s["required"] = []string{"apiVersion", "kind"}
	properties := s["properties"].(schema)
	properties["apiVersion"].(schema)["enum"] = []string{config.APIVersion}
	properties["kind"].(schema)["enum"] = []string{config.Kind}
	return s
}

func encode(s any) ([]byte, error) {
	var b bytes.Buffer
	e := json.NewEncoder(&b)
	e.SetIndent("", "  ")
	e.SetEscapeHTML(false)
	err := e.Encode(s)
	return b.Bytes(), err
}

func objectSchema(all []field, docs documentation) schema {
	properties := schema{}
	for _, f := range all {
		s := f.schema(docs)
		s["description"] = f.doc
		properties[f.name] = s
	}
	return schema{"type": "object", "properties": properties, "additionalProperties": false}
}

// schema returns the schema of a field, with its default unless it is an object.
func (f *field) schema(docs documentation) schema {
	if f.isObject() {
		return objectSchema(f.fields, docs)
	}
	s := typeSchema(f.of, docs)
	if f.enum != nil {
		s["enum"] = f.enum
	}
	switch {
	case f.isDuration():
		s["default"] = printed(f.value)
	case f.of.Kind() == reflect.Slice && f.value.IsNil():
		s["default"] = []string{}
	default:
		s["default"] = f.value.Interface()
	}
	return s
}

func typeSchema(t reflect.Type, docs documentation) schema {
	if f := (field{of: t}); f.isDuration() {
		return schema{"type": "string", "pattern": durationPattern}
	}
	switch t.Kind() {
	case reflect.String:
		return schema{"type": "string"}
	case reflect.Bool:
		return schema{"type": "boolean"}
	case reflect.Int64:
		return schema{"type": []string{"integer", "string"}, "minimum": 0, "pattern": bytesPattern}
	case reflect.Int:
		return schema{"type": "integer", "minimum": 0} // 0 is unset
	case reflect.Float64:
		return schema{"type": "number", "minimum": 0}
	case reflect.Slice:
		return schema{"type": "array", "items": typeSchema(t.Elem(), docs)}
	case reflect.Struct:
		inner := fields(reflect.New(t).Elem(), docs)
		s := objectSchema(inner, docs)
		for _, property := range s["properties"].(schema) {
			delete(property.(schema), "default")
		}
		return s
	}
	panic("config: no field can be a " + t.String())
}
