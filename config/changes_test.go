package config

import (
	"reflect"
	"slices"
	"strings"
	"testing"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/kube-openapi/pkg/validation/spec"
)

func TestChangesNameFieldsByWhetherTheyReload(t *testing.T) {
	parse := func(text string) *File {
		c := Parse("f.yaml", []byte(head+text))
		if err := c.Check(); err != nil {
			t.Fatal(err)
		}
		return c.File
	}
	old := parse("")
	for _, tt := range []struct {
		text            string
		reload, restart []string
	}{
		{"", nil, nil},
		{"listen: 127.0.0.1:8443\nshutdown: {grace: 10s}\ncache: {encodedBytes: 100663296}\ntls: {hosts: []}", nil, nil}, // the defaults
		{"log: {level: debug}\nlimits: {seats: 5}", []string{"limits.seats", "log.level"}, nil},
		{"log: {level: debug, format: console}\ntls: {hosts: [a]}", []string{"log.level"}, []string{"tls.hosts", "log.format"}},
		{"cache: {encodedBytes: 0, exclude: []}", []string{"cache.encodedBytes"}, []string{"cache.exclude"}},
	} {
		if reload, restart := Changes(old, parse(tt.text)); !slices.Equal(reload, tt.reload) || !slices.Equal(restart, tt.restart) {
			t.Errorf("%s: %q and %q", tt.text, reload, restart)
		}
	}
}

// Each field that differs is named by its path, and needs a restart unless the documentation says
// that it is reloaded.
func TestEveryFieldThatDiffersIsNamed(t *testing.T) {
	old, changed := &File{}, &File{}
	old.Default()
	changed.Default()
	var check func(object reflect.Value, s *spec.Schema, path string)
	check = func(object reflect.Value, s *spec.Schema, path string) {
		for i := range object.NumField() {
			name, leaf := jsonName(object.Type().Field(i)), reflect.Indirect(object.Field(i))
			described, at := s.Properties[name], below(path, name)
			reloads := strings.HasSuffix(described.Description, "(reloaded)")
			if isObject(leaf.Type()) && !reloads {
				check(leaf, &described, at)
				continue
			}
			for isObject(leaf.Type()) {
				leaf = leaf.Field(0)
			}
			before := reflect.New(leaf.Type()).Elem()
			before.Set(leaf)
			alter(leaf)
			reload, restart := Changes(old, changed)
			leaf.Set(before)
			want, other := restart, reload
			if reloads {
				want, other = reload, restart
			}
			if !slices.Equal(want, []string{at}) || len(other) > 0 {
				t.Errorf("%s: reloaded %q, needs a restart %q", at, reload, restart)
			}
		}
	}
	check(reflect.ValueOf(changed).Elem(), embeddedSchema(t), "")
}

// alter changes a value of a field.
func alter(v reflect.Value) {
	switch v.Kind() {
	case reflect.String:
		v.SetString(v.String() + "x")
	case reflect.Bool:
		v.SetBool(!v.Bool())
	case reflect.Int, reflect.Int64:
		v.SetInt(v.Int() + 1)
	case reflect.Float64:
		v.SetFloat(v.Float() + 1)
	case reflect.Slice:
		v.Set(reflect.MakeSlice(v.Type(), v.Len()+1, v.Len()+1))
	default:
		v.Addr().Interface().(*metav1.Duration).Duration++
	}
}
