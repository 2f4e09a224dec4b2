package plan

import (
	"testing"

	"k8s.io/apiserver/pkg/storage"

	"sluice/cache/tree"
	"sluice/proxy/discovery"
	"sluice/proxy/request"
	"sluice/proxy/resources"
)

// A token from here is the apiserver's, and leads to the key behind its last object, here and there.
func TestContinueTokenIsThatOfTheRelease(t *testing.T) {
	for _, row := range []struct {
		namespace string
		last      tree.Key
		prefix    string // of the list at the apiserver
		next      string // its key there
	}{
		{"", "a/x", "/registry/foos/", "/registry/foos/a/x\x00"},
		{"a", "a/x", "/registry/foos/a/", "/registry/foos/a/x\x00"},
		{"", "x", "/registry/nodes/", "/registry/nodes/x\x00"},
		{"a", "a/a", "/registry/foos/a/", "/registry/foos/a/a\x00"},
		{"a", "a/system:x<y>&z", "/registry/foos/a/", "/registry/foos/a/system:x<y>&z\x00"},
	} {
		for minor, prefix := range map[int]string{0: row.prefix[:len(row.prefix)-1], 37: row.prefix[:len(row.prefix)-1], 38: row.prefix, 39: row.prefix} {
			c := &resources.CachedResource{Description: &discovery.Description{Minor: minor}}
			p := &Plan{Resource: c, Query: Query{Read: &request.Read{Namespace: row.namespace}}}
			token, err := p.ContinueToken(7, row.last)
			if want, _ := storage.EncodeContinue(row.next, prefix, 7); err != nil || token != want {
				t.Errorf("%s in %q before 1.%d: %s, want %s: %v", row.last, row.namespace, minor, token, want, err)
			}
			version, start, err := parseContinue(token, row.namespace)
			if err != nil || version != 7 || start != row.last+"\x00" {
				t.Errorf("%s in %q: %d, %q, %v", row.last, row.namespace, version, start, err)
			}
			key, rv, err := storage.DecodeContinue(token, row.prefix)
			if err != nil || rv != 7 || key != row.next {
				t.Errorf("%s in %q at the apiserver: %d, %q, %v", row.last, row.namespace, rv, key, err)
			}
		}
	}
}

// No token leads out of its namespace.
func FuzzParseContinue(f *testing.F) {
	for _, start := range []string{"/x\x00", "x\x00", "/../b/x\x00", "/", "//x", "/a/x"} {
		if token, err := storage.EncodeContinue("/registry"+start, "/registry", 7); err == nil {
			f.Add(token, "a")
		}
	}
	f.Fuzz(func(t *testing.T, token, namespace string) {
		version, start, err := parseContinue(token, namespace)
		if err != nil {
			return
		}
		if version == 0 {
			t.Error("version 0")
		}
		if namespace != "" && start < tree.Namespace(namespace).From {
			t.Errorf("%q is before namespace %q", start, namespace)
		}
	})
}
