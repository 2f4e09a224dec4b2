package projection

import (
	"strings"
	"testing"
)

func TestEqualProjectionsHaveOneText(t *testing.T) {
	for _, row := range []struct{ keep, drop, want string }{
		{"", "", ""},
		{"b+a+b", "", "keep=a+b"},
		{"", "metadata.managedFields", string(WithoutManagedFields)},
		{"a.b[*].c[x/y.z]", "", "keep=a.b[*].c[x/y.z]"},
	} {
		if p, err := Parse(row.keep, row.drop); err != nil || string(p) != row.want {
			t.Errorf("keep %q, drop %q: %q, %v", row.keep, row.drop, p, err)
		}
	}
}

func TestImpossibleProjectionsAreRefused(t *testing.T) {
	for _, row := range []struct{ keep, drop, want string }{
		{"a", "b", "exclude each other"},
		{"a..b", "", "a name is missing"},
		{"a.", "", "a name is missing"},
		{"[a]", "", "a name is missing"},
		{"a]b", "", "a name is missing or has ]"},
		{"a[", "", "write [*] or [key]"},
		{"a[]", "", "write [*] or [key]"},
		{"a[*]", "", "at the end has no effect"},
		{"a[*]b", "", "a point is missing"},
		{"a[*].b+a.c", "", "exclude each other in one place"},
		{"metadata[*].x", "", "exclude each other in one place"},
		{`a"b`, "", "printable ASCII"},
		{"a\x00", "", "printable ASCII"},
		{"ä", "", "printable ASCII"},
		{strings.Repeat("a.", 200) + "b", "", "more than 128 names"},
		{strings.Repeat("a+b+", 200) + "c" + strings.Repeat("+x.y", 1) + "+" + manyPaths(), "", "more than 128 names"},
		{"", "metadata", "metadata.name cannot be dropped"},
		{"", "metadata[*].x", "metadata.name cannot be dropped"},
		{"", "metadata.labels[a]", "metadata.labels cannot be dropped"},
		{"", "kind", "kind cannot be dropped"},
	} {
		if p, err := Parse(row.keep, row.drop); err == nil || !strings.Contains(err.Error(), row.want) || strings.Contains(err.Error(), "\n") {
			t.Errorf("keep %q, drop %q: %q, %v, want %s", row.keep, row.drop, p, err, row.want)
		}
	}
}

// manyPaths returns 200 different paths.
func manyPaths() string {
	var paths []string
	for i := range 200 {
		paths = append(paths, "p"+strings.Repeat("x", i))
	}
	return strings.Join(paths, "+")
}
