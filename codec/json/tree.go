package json

import (
	"fmt"
	"maps"
	"math"
	"slices"
	"strconv"
	"unicode/utf8"
)

// AppendTree appends a value that a decoder has made, as encoding/json prints it: nil, a bool, a string, an int, int64, uint64 or
// finite float64, a Value as it is, or an []any or map[string]any of such values, whose members are sorted. prepare sees each
// value first and returns its printed form, such as another type in place of one that is not in this list.
//
// limit is the largest number of bytes that are appended; 0 is unlimited. The error is one of prepare, ErrSize, ErrDepth,
// ErrFieldType, or ErrSyntax for a name that is not UTF-8; dst is then returned unchanged.
func AppendTree(dst []byte, v any, limit int, prepare func(v any) (any, error)) ([]byte, error) {
	t := tree{dst: dst, max: math.MaxInt, prepare: prepare}
	if limit > 0 {
		t.max = len(dst) + limit
	}
	if err := t.value(v, MaxDepth); err != nil {
		return dst, err
	}
	return t.dst, nil
}

// tree is the state of one AppendTree.
type tree struct {
	dst     []byte
	max     int // the largest length of dst
	prepare func(v any) (any, error)
}

// value appends a value that may have so many levels of nesting.
func (t *tree) value(v any, levels int) error {
	v, err := t.prepare(v)
	if err != nil {
		return err
	}
	switch v := v.(type) {
	case nil:
		t.dst = append(t.dst, "null"...)
	case bool:
		t.dst = strconv.AppendBool(t.dst, v)
	case int:
		t.dst = strconv.AppendInt(t.dst, int64(v), 10)
	case int64:
		t.dst = strconv.AppendInt(t.dst, v, 10)
	case uint64:
		t.dst = strconv.AppendUint(t.dst, v, 10)
	case float64:
		t.dst = AppendFloat(t.dst, v)
	case Value:
		t.dst = append(t.dst, v...)
	case string:
		return t.text(v)
	case []any:
		return t.list(v, levels-1)
	case map[string]any:
		return t.object(v, levels-1)
	default:
		return fmt.Errorf("%T: %w", v, ErrFieldType)
	}
	return t.fits(0)
}

// fits returns ErrSize unless n more bytes fit.
func (t *tree) fits(n int) error {
	if len(t.dst)+n > t.max {
		return ErrSize
	}
	return nil
}

func (t *tree) text(s string) error {
	if err := t.fits(len(s) + len(`""`)); err != nil {
		return err
	}
	t.dst = AppendString(t.dst, s)
	return t.fits(0)
}

func (t *tree) list(l []any, levels int) error {
	if levels < 0 {
		return ErrDepth
	}
	t.dst = append(t.dst, '[')
	for i, e := range l {
		t.dst = appendComma(t.dst, i == 0)
		if err := t.value(e, levels); err != nil {
			return err
		}
	}
	t.dst = append(t.dst, ']')
	return t.fits(0)
}

func (t *tree) object(m map[string]any, levels int) error {
	if levels < 0 {
		return ErrDepth
	}
	names := slices.AppendSeq(make([]string, 0, len(m)), maps.Keys(m))
	slices.Sort(names)
	t.dst = append(t.dst, '{')
	for i, name := range names {
		if !utf8.ValidString(name) { // two such names could become the same
			return fmt.Errorf("map key %q is not UTF-8: %w", name, ErrSyntax)
		}
		t.dst = appendComma(t.dst, i == 0)
		if err := t.text(name); err != nil {
			return err
		}
		t.dst = append(t.dst, ':')
		if err := t.value(m[name], levels); err != nil {
			return err
		}
	}
	t.dst = append(t.dst, '}')
	return t.fits(0)
}
