package config

import (
	"encoding/json"
	"reflect"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"
	"k8s.io/kube-openapi/pkg/validation/spec"
	"k8s.io/kube-openapi/pkg/validation/strfmt"
	"k8s.io/kube-openapi/pkg/validation/validate"
	"sigs.k8s.io/yaml"

	"sluice/docs"
)

// embeddedSchema returns the Schema.
func embeddedSchema(t *testing.T) *spec.Schema {
	t.Helper()
	s := &spec.Schema{}
	if err := json.Unmarshal(Schema, s); err != nil {
		t.Fatal(err)
	}
	return s
}

func TestSchemaDescribesEveryField(t *testing.T) {
	checkDescribed(t, reflect.TypeFor[File](), embeddedSchema(t), "")
}

func checkDescribed(t *testing.T, of reflect.Type, s *spec.Schema, path string) {
	if len(s.Properties) != of.NumField() || s.AdditionalProperties == nil || s.AdditionalProperties.Allows {
		t.Errorf("%s: %d properties of %d fields, or others are allowed", path, len(s.Properties), of.NumField())
	}
	for i := range of.NumField() {
		name := jsonName(of.Field(i))
		p, ok := s.Properties[name]
		if !ok || p.Description == "" {
			t.Errorf("%s is not described; is its file in sources?", below(path, name))
		}
		inner := of.Field(i).Type
		if inner.Kind() == reflect.Slice && inner.Elem().Kind() == reflect.Struct {
			inner, p = inner.Elem(), *p.Items.Schema
		}
		if isObject(inner) {
			checkDescribed(t, inner, &p, below(path, name))
		}
	}
}

// An editor that follows the schema accepts what Sluice accepts, and refuses what it refuses.
func TestSchemaAgreesWithParse(t *testing.T) {
	s := embeddedSchema(t)
	for _, tt := range []struct {
		text string
		want bool
	}{
		{string(docs.Config), true}, {head, true},
		{head + "tls: {sni: [{certFile: a, keyFile: b}]}", true}, {head + "tls: {sni: [{cert: a}]}", false},
		{head + "shutdown: {delay: 1h2m3.5s, grace: 100ms}", true}, {head + "shutdown: {delay: soon}", false}, {head + "shutdown: {delay: -1s}", false}, {head + "shutdown: {delay: 5}", false},
		{head + "log: {level: loud}", false}, {head + "log: {levels: info}", false}, {head + "compatibility: lax", false},
		{head + "limits: {seats: -1}", false}, {head + "limits: {seats: many}", false}, {head + "limits: 5", false},
		{head + "cache: {exclude: pods}", false}, {head + "cache: {encodedBytes: -1}", false},
		{head + "cache: {maxBytes: 512Mi, historyBytes: 1.5Gi, encodedBytes: 100M}", true}, {head + "cache: {maxBytes: 512MB}", false}, {head + "cache: {maxBytes: 100m}", false}, {head + "cache: {secrets: 1}", false},
		{"kind: Configuration", false}, {"apiVersion: v1\nkind: Configuration", false}, {"apiVersion: sluice/v1alpha1", false},
	} {
		var value any
		if err := yaml.Unmarshal([]byte(tt.text), &value); err != nil {
			t.Fatal(err)
		}
		result := validate.NewSchemaValidator(s, nil, "", strfmt.Default).Validate(value)
		if result.IsValid() != tt.want {
			t.Errorf("%s\nby the schema valid %v: %v", tt.text, result.IsValid(), result.AsError())
		}
		if err := Parse("f.yaml", []byte(tt.text)).Check(); (err == nil) != tt.want {
			t.Errorf("%s\nby Parse: %v", tt.text, err)
		}
	}
}

func TestEmbeddedDefaultsAreTheDefaults(t *testing.T) {
	c := Parse("f.yaml", docs.Config)
	if len(c.problems) > 0 {
		t.Fatal(c.problems)
	}
	want := &File{}
	want.Default()
	if diff := cmp.Diff(want, c.File, cmpopts.EquateEmpty()); diff != "" {
		t.Errorf("(-default +written):\n%s", diff)
	}
}
