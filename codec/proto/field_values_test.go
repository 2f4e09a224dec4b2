package proto

import (
	"encoding/json"
	"fmt"
	"strconv"
	"strings"
	"testing"
)

// lookupJSON reads the path of a SelectableField out of an object decoded from JSON.
func lookupJSON(obj any, path string) string {
	for path != "" {
		var name string
		name, path, _ = strings.Cut(path, ".")
		name, first := strings.CutSuffix(name, "[0]")
		m, _ := obj.(map[string]any)
		if obj = m[name]; first {
			list, _ := obj.([]any)
			if obj = nil; len(list) > 0 {
				obj = list[0]
			}
		}
	}
	switch v := obj.(type) {
	case string:
		return v
	case bool:
		return strconv.FormatBool(v)
	case float64:
		return fmt.Sprint(int64(v))
	}
	return ""
}

// Random objects of all kinds have the same values in their JSON.
func TestFieldValuesEqualThePathsInJSON(t *testing.T) {
	seen := map[string]bool{} // the paths that have had a value
	eachFilled(t, func(t *testing.T, m *Schema, raw []byte) {
		if m.New() == nil {
			return
		}
		js, err := m.AppendJSON(nil, raw)
		if err != nil {
			t.Fatal(err)
		}
		var obj any
		if err := json.Unmarshal(js, &obj); err != nil {
			t.Fatal(err)
		}
		for _, s := range SelectableFields(m.APIVersion, m.Kind) {
			for _, path := range []string{s.Path, s.Fallback} {
				if path == "" {
					continue
				}
				got, err := m.Field(raw, strings.Split(path, ".")...)
				want := lookupJSON(obj, path)
				if want == "" && (got == "false" || got == "0") {
					continue // JSON lacks the zero value
				}
				seen[m.APIVersion+m.Kind+path] = seen[m.APIVersion+m.Kind+path] || got != ""
				// JSON cannot represent invalid UTF-8.
				if err != nil || !strings.Contains(want, "\ufffd") && got != want {
					t.Errorf("%s %s %s: got %q, %v, want %q", m.APIVersion, m.Kind, path, got, err, want)
				}
			}
		}
	})
	for path, ok := range seen {
		if !ok {
			t.Errorf("no object has a value at %s", path)
		}
	}
}
