package yaml

import (
	"errors"
	"fmt"
	"maps"
	"math"
	"reflect"
	"slices"
	"strconv"

	yamlv2 "go.yaml.in/yaml/v2"

	"sluice/codec/json"
)

// AppendJSON appends the first document of a YAML stream as JSON with the meaning that it has for
// the apiserver in a request body: YAML 1.1 with all its booleans; names that are numbers or
// booleans become text; of duplicate names the last counts; members are sorted. An empty document
// is null. JSON is YAML and passes through.
//
// limit is the largest length of the JSON, in bytes; 0 is unlimited, which is safe only for trusted
// input.
//
// The error wraps ErrSize, ErrDepth beyond json.MaxDepth, or ErrDecode with the text of the
// apiserver: for syntax errors, excessive or recursive aliases, names that are lists, maps or null,
// NaN and infinities. dst is then returned unchanged.
func AppendJSON(dst, src []byte, limit int) ([]byte, error) {
	v, err := decode(src, yamlv2.Unmarshal)
	if err != nil {
		return dst, err
	}
	w := jsonWriter{dst: dst, max: math.MaxInt, depth: json.MaxDepth}
	if limit > 0 {
		w.max = len(dst) + limit
	}
	if err := w.value(v); err != nil {
		return dst, err
	}
	return w.dst, nil
}

// StrictError returns the error of strict decoding with the text of the apiserver: for duplicate
// names, which AppendJSON resolves, and for everything that AppendJSON refuses to decode.
func StrictError(src []byte) error {
	_, err := decode(src, yamlv2.UnmarshalStrict)
	return err
}

// decodeError has the text of the parser's error and wraps ErrDecode.
type decodeError struct{ err error }

func (e *decodeError) Error() string   { return e.err.Error() }
func (e *decodeError) Unwrap() []error { return []error{ErrDecode, e.err} }

// decode parses the first document. The parser bounds nesting and the number of values that aliases
// make; the length of the strings that they repeat is bounded by jsonWriter.
func decode(src []byte, unmarshal func([]byte, any) error) (v any, err error) {
	// The parser uses panics internally and recovers from its own. A panic that it did not intend
	// must not end the process.
	defer func() {
		if r := recover(); r != nil {
			err = &decodeError{fmt.Errorf("yaml: %v", r)}
		}
	}()
	if err := unmarshal(src, &v); err != nil {
		return nil, &decodeError{err}
	}
	return v, nil
}

// jsonWriter prints parsed values as JSON.
type jsonWriter struct {
	dst   []byte
	max   int // longest allowed dst
	depth int // levels of nesting left
}

func (w *jsonWriter) value(v any) error {
	switch v := v.(type) {
	case nil:
		w.dst = append(w.dst, "null"...)
	case bool:
		w.dst = strconv.AppendBool(w.dst, v)
	case int:
		w.dst = strconv.AppendInt(w.dst, int64(v), 10)
	case int64:
		w.dst = strconv.AppendInt(w.dst, v, 10)
	case uint64:
		w.dst = strconv.AppendUint(w.dst, v, 10)
	case float64:
		return w.float(v)
	case string:
		return w.text(v)
	case []any:
		return w.list(v)
	case map[any]any:
		return w.object(v)
	default:
		return &decodeError{fmt.Errorf("json: unsupported type: %T", v)}
	}
	return w.fits(0)
}

// fits returns ErrSize unless n more bytes fit.
func (w *jsonWriter) fits(n int) error {
	if len(w.dst)+n > w.max {
		return fmt.Errorf("JSON of this YAML: %w", ErrSize)
	}
	return nil
}

func (w *jsonWriter) text(s string) error {
	if err := w.fits(len(s) + 2); err != nil {
		return err
	}
	w.dst = json.AppendString(w.dst, s)
	return w.fits(0)
}

// float prints a float in the way of encoding/json.
func (w *jsonWriter) float(f float64) error {
	if math.IsNaN(f) || math.IsInf(f, 0) {
		return &decodeError{errors.New("json: unsupported value: " + strconv.FormatFloat(f, 'g', -1, 64))}
	}
	w.dst = json.AppendFloat(w.dst, f)
	return w.fits(0)
}

func (w *jsonWriter) enter() error {
	if w.depth--; w.depth < 0 {
		return fmt.Errorf("JSON of this YAML: %w", ErrDepth)
	}
	return nil
}

func (w *jsonWriter) list(l []any) error {
	if err := w.enter(); err != nil {
		return err
	}
	w.dst = append(w.dst, '[')
	for i, e := range l {
		if i > 0 {
			w.dst = append(w.dst, ',')
		}
		if err := w.value(e); err != nil {
			return err
		}
	}
	w.dst = append(w.dst, ']')
	w.depth++
	return w.fits(0)
}

func (w *jsonWriter) object(m map[any]any) error {
	if err := w.enter(); err != nil {
		return err
	}
	members, err := named(m)
	if err != nil {
		return err
	}
	names := slices.AppendSeq(make([]string, 0, len(members)), maps.Keys(members))
	slices.Sort(names)
	w.dst = append(w.dst, '{')
	for i, name := range names {
		if i > 0 {
			w.dst = append(w.dst, ',')
		}
		if err := w.text(name); err != nil {
			return err
		}
		w.dst = append(w.dst, ':')
		if err := w.value(members[name]); err != nil {
			return err
		}
	}
	w.dst = append(w.dst, '}')
	w.depth++
	return w.fits(0)
}

// named turns the keys of a map into text, in the way of sigs.k8s.io/yaml. Of keys that become the
// same text, such as 1 and "1", the apiserver uses a random one; here the string wins.
func named(m map[any]any) (map[string]any, error) {
	members := make(map[string]any, len(m))
	for k, v := range m {
		var name string
		switch k := k.(type) {
		case string:
			members[k] = v
			continue
		case int:
			name = strconv.Itoa(k)
		case int64:
			name = strconv.FormatInt(k, 10)
		case float64:
			name = floatName(k)
		case bool:
			name = strconv.FormatBool(k)
		default:
			return nil, &decodeError{fmt.Errorf("unsupported map key of type: %s, key: %+#v, value: %+#v", reflect.TypeOf(k), k, v)}
		}
		if _, text := m[name]; !text {
			members[name] = v
		}
	}
	return members, nil
}

// floatName prints a float as a name: in single precision, as the apiserver does.
func floatName(f float64) string {
	switch s := strconv.FormatFloat(f, 'g', -1, 32); s {
	case "+Inf":
		return ".inf"
	case "-Inf":
		return "-.inf"
	case "NaN":
		return ".nan"
	default:
		return s
	}
}
