package proto

import (
	"math"
	"math/rand"
	"strconv"
	"strings"
	"time"

	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	apiextensionsv1beta1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1beta1"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/util/intstr"
	"sigs.k8s.io/randfill"
)

// newFiller fills objects with values that the wire format can represent, unusual ones included. A
// seed always gives the same object.
func newFiller(seed int64) *randfill.Filler {
	return randfill.NewWithSeed(seed).NilChance(0.3).NumElements(0, 3).MaxDepth(12).Funcs(
		func(s *string, c randfill.Continue) { *s = fillString(c.Rand) },
		func(b *[]byte, c randfill.Continue) { *b = []byte(fillString(c.Rand)) },
		func(t *metav1.TypeMeta, _ randfill.Continue) {},
		func(f *float64, c randfill.Continue) { *f = fillFloat(c.Rand) },
		func(n *int32, c randfill.Continue) { *n = int32(fillInt(c.Rand)) },
		func(n *int64, c randfill.Continue) { *n = fillInt(c.Rand) },
		func(t *metav1.Time, c randfill.Continue) { t.Time = fillTime(c.Rand) },
		func(t *metav1.MicroTime, c randfill.Continue) { t.Time = fillTime(c.Rand) },
		func(d *metav1.Duration, c randfill.Continue) { d.Duration = time.Duration(fillInt(c.Rand)) },
		func(q *resource.Quantity, c randfill.Continue) { *q = fillQuantity(c.Rand) },
		func(v *intstr.IntOrString, c randfill.Continue) {
			if *v = intstr.FromInt32(int32(fillInt(c.Rand))); c.Bool() {
				*v = intstr.FromString(fillString(c.Rand))
			}
		},
		func(e *runtime.RawExtension, c randfill.Continue) {
			if e.Raw = nil; c.Bool() {
				e.Raw = []byte(fillJSON(c.Rand, 0))
			}
		},
		func(f *metav1.FieldsV1, c randfill.Continue) {
			f.SetRawString([]string{"", "null", " {} ", "{" + fillJSONMembers(c.Rand, 0) + "}"}[c.Intn(4)])
		},
		func(v *apiextensionsv1.JSON, c randfill.Continue) { v.Raw = []byte(fillJSON(c.Rand, 0)) },
		func(v *apiextensionsv1beta1.JSON, c randfill.Continue) { v.Raw = []byte(fillJSON(c.Rand, 0)) },
	)
}

// pieces are the parts of strings: everything that encoders treat specially.
var pieces = []string{"a", "name", "<", ">", "&", "\"", "\\", "\n", "\r", "\t", "\b", "\f", "\x00", "\x1f", "\x7f", "é", "世", "🜁",
	"\u2028", "\u2029", "\u2027", "\xff", "\xe2\x80", "\xed\xa0\x80", "/", "'", "=", " ", "a long stretch of plain text, longer than a word"}

func fillString(r *rand.Rand) string {
	var b strings.Builder
	for range r.Intn(4) {
		b.WriteString(pieces[r.Intn(len(pieces))])
	}
	return b.String()
}

func fillInt(r *rand.Rand) int64 {
	switch r.Intn(6) {
	case 0:
		return 0
	case 1:
		return []int64{1, -1, math.MaxInt32, math.MinInt32, math.MaxInt64, math.MinInt64, 127, 128, 1 << 32}[r.Intn(9)]
	case 2:
		return int64(r.Uint64())
	}
	return int64(r.Intn(2000) - 1000)
}

func fillFloat(r *rand.Rand) float64 {
	switch r.Intn(4) {
	case 0:
		return []float64{0, math.Copysign(0, -1), 1, 1e21, 1e20, 1e-6, 1e-7, 123456789e-15, math.MaxFloat64, math.SmallestNonzeroFloat64, 0.5, 65504, 65505}[r.Intn(13)]
	case 1:
		return float64(fillInt(r))
	}
	return r.NormFloat64() * math.Pow(10, float64(r.Intn(60)-30))
}

func fillTime(r *rand.Rand) time.Time {
	switch r.Intn(5) {
	case 0:
		return time.Time{}
	case 1:
		return time.Unix(r.Int63n(600_000_000_000)-150_000_000_000, 0)
	}
	return time.Unix(r.Int63n(4_000_000_000), r.Int63n(1e9))
}

func fillQuantity(r *rand.Rand) resource.Quantity {
	if r.Intn(8) == 0 {
		return resource.Quantity{}
	}
	return resource.MustParse(fillQuantityText(r))
}

func fillQuantityText(r *rand.Rand) string {
	s := strconv.Itoa(r.Intn([]int{10, 1100, 100_000, 1_000_000_000}[r.Intn(4)]))
	switch r.Intn(6) {
	case 0:
		s += "." + strconv.Itoa(r.Intn(10000))
	case 1:
		s += strings.Repeat("0", r.Intn(12))
	}
	s = []string{"", "", "", "", "-", "+", "0"}[r.Intn(7)] + s
	return s + []string{"", "n", "u", "m", "k", "M", "G", "T", "P", "E", "Ki", "Mi", "Gi", "Ti", "Pi", "Ei", "e3", "E5", "e-3"}[r.Intn(19)]
}

// fillJSON returns a JSON value with arbitrary spacing.
func fillJSON(r *rand.Rand, depth int) string {
	space := []string{"", "", "", " ", "\n\t"}[r.Intn(5)]
	n := 8
	if depth > 3 {
		n = 6
	}
	switch r.Intn(n) {
	case 0:
		return space + "null"
	case 1:
		return []string{"true", "false"}[r.Intn(2)] + space
	case 2:
		return space + strconv.FormatInt(fillInt(r), 10)
	case 3:
		return []string{"0", "-0", "0.5", "1e3", "-1.25E-7", "1e+2", "10", "1.0", "123456789012345678901234567890"}[r.Intn(9)]
	case 4, 5:
		return space + fillJSONString(r)
	case 6:
		var parts []string
		for range r.Intn(4) {
			parts = append(parts, fillJSON(r, depth+1)+space)
		}
		return "[" + space + strings.Join(parts, ",") + "]"
	}
	return space + "{" + space + fillJSONMembers(r, depth) + "}" + space
}

func fillJSONMembers(r *rand.Rand, depth int) string {
	var parts []string
	for range r.Intn(4) {
		parts = append(parts, fillJSONString(r)+[]string{"", " "}[r.Intn(2)]+":"+fillJSON(r, depth+1))
	}
	return strings.Join(parts, ", ")
}

func fillJSONString(r *rand.Rand) string {
	return []string{`""`, `"f:metadata"`, `"a<b>&c"`, `"\u00e9\n\"\\\/\b"`, "\"\u2028\u2029\u2027\"", "\"\xff\"", `"k:{\"uid\":\"1\"}"`, `"\ud800"`, `"é世"`}[r.Intn(9)]
}
