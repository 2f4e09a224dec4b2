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

// Limits bounds what ToJSON accepts. The zero value means the documented
// defaults.
type Limits struct {
	Size   int // bytes of YAML; 0 is unlimited, for callers that bounded their reading
	Output int // bytes of JSON, to which aliases may grow; 0 is MaxOutput
	Depth  int // nesting; 0, and anything above json.MaxDepth, is json.MaxDepth
}

// MaxOutput is how large ToJSON lets the JSON become by default: several
// times what the apiserver accepts as a body (3 MiB), since escapes and the
// repetition of short aliases do make it longer.
const MaxOutput = 16 << 20

// ToJSON appends the first document of a YAML stream as JSON, as the
// apiserver understands a request body: YAML 1.1 with its many booleans,
// names that are numbers or booleans turned into text, of equal names the
// last counting, members sorted. An empty document is null. JSON passes
// through.
//
// The error wraps ErrSize, ErrDepth or ErrDecode, the latter with the
// apiserver's own text: syntax, excessive or recursive aliases, names that
// are lists, maps or null, NaN and infinities. dst is then returned
// unchanged.
func ToJSON(dst, src []byte, limits Limits) ([]byte, error) {
	v, err := decode(src, limits, yamlv2.Unmarshal)
	if err != nil {
		return dst, err
	}
	return appendValue(dst, v, limits)
}

// Strict reports what the apiserver objects to in a YAML body beyond what
// makes ToJSON fail, with its own text: names set twice. By default it then
// warns; with fieldValidation=Strict it refuses.
//
// It also returns an error wherever decoding does.
func Strict(src []byte, limits Limits) error {
	_, err := decode(src, limits, yamlv2.UnmarshalStrict)
	return err
}

// decodeError is the parser's error, unwrapping to ErrDecode as well.
type decodeError struct{ err error }

func (e *decodeError) Error() string   { return e.err.Error() }
func (e *decodeError) Unwrap() []error { return []error{ErrDecode, e.err} }

// decode builds the first document. The parser bounds nesting, and the number
// of values that aliases make; what long texts they repeat, appendValue does.
func decode(src []byte, limits Limits, unmarshal func([]byte, any) error) (v any, err error) {
	if limits.Size > 0 && len(src) > limits.Size {
		return nil, fmt.Errorf("%d bytes, limit is %d: %w", len(src), limits.Size, ErrSize)
	}
	// The parser panics on purpose and recovers; it must not end the process
	// if it ever does so by mistake.
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

// jsonWriter turns what the parser builds into JSON.
type jsonWriter struct {
	dst   []byte
	max   int // the length that dst must not exceed
	depth int // how much deeper it may go
}

func appendValue(dst []byte, v any, limits Limits) ([]byte, error) {
	if limits.Output <= 0 {
		limits.Output = MaxOutput
	}
	if limits.Depth <= 0 || limits.Depth > json.MaxDepth {
		limits.Depth = json.MaxDepth
	}
	w := jsonWriter{dst: dst, max: len(dst) + limits.Output, depth: limits.Depth}
	if err := w.value(v); err != nil {
		return dst, err
	}
	return w.dst, nil
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

// fits checks that n more bytes may follow.
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

// float prints a float as encoding/json does.
func (w *jsonWriter) float(f float64) error {
	if math.IsNaN(f) || math.IsInf(f, 0) {
		return &decodeError{errors.New("json: unsupported value: " + strconv.FormatFloat(f, 'g', -1, 64))}
	}
	w.dst = appendFloat(w.dst, f)
	return w.fits(0)
}

func appendFloat(dst []byte, f float64) []byte {
	a := math.Abs(f)
	if a == 0 || a >= 1e-6 && a < 1e21 {
		return strconv.AppendFloat(dst, f, 'f', -1, 64)
	}
	dst = strconv.AppendFloat(dst, f, 'e', -1, 64)
	if n := len(dst); dst[n-4] == 'e' && dst[n-3] == '-' && dst[n-2] == '0' { // e-09 as e-9
		dst[n-2] = dst[n-1]
		dst = dst[:n-1]
	}
	return dst
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

// named turns a map's keys into text, as sigs.k8s.io/yaml does. Keys that
// differ and yet become the same text, such as 1 and "1", the apiserver takes
// in random order; here the one that was text wins.
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

// floatName prints a float as a name: in single precision, the way the
// apiserver does.
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
