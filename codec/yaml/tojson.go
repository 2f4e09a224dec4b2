package yaml

import (
	"errors"
	"fmt"
	"math"
	"reflect"
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
// The error wraps json.ErrSize, json.ErrDepth, or ErrDecode with the text of the apiserver: for
// syntax errors, excessive or recursive aliases, names that are lists, maps or null, NaN and
// infinities. dst is then returned unchanged.
func AppendJSON(dst, src []byte, limit int) ([]byte, error) {
	v, err := decode(src, yamlv2.Unmarshal)
	if err != nil {
		return dst, err
	}
	return json.AppendTree(dst, v, limit, prepare)
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
// make; AppendTree bounds the length of the strings that they repeat.
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

// prepare turns a parsed value into one that json.AppendTree prints.
func prepare(v any) (any, error) {
	switch v := v.(type) {
	case map[any]any:
		return named(v)
	case float64:
		if math.IsNaN(v) || math.IsInf(v, 0) {
			return nil, &decodeError{errors.New("json: unsupported value: " + strconv.FormatFloat(v, 'g', -1, 64))}
		}
	}
	return v, nil
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
