package bookmark

import (
	"errors"
	"testing"
)

func TestTypedKeepsTheAnnotationOfDaemonSetsOnly(t *testing.T) {
	encode, err := Typed([]byte(`{"kind":"DaemonSet","metadata":{"resourceVersion":"1","annotations":{"deprecated.daemonset.template.generation":"0","k8s.io/initial-events-end":"true","k8s.io/of-a-newer-apiserver":"17"}},"spec":{}}`))
	if err != nil {
		t.Fatal(err)
	}
	for end, want := range map[bool]string{
		false: `{"kind":"DaemonSet","metadata":{"resourceVersion":"7","annotations":{"deprecated.daemonset.template.generation":"0"}},"spec":{}}`,
		true:  `{"kind":"DaemonSet","metadata":{"resourceVersion":"7","annotations":{"deprecated.daemonset.template.generation":"0","k8s.io/initial-events-end":"true"}},"spec":{}}`,
	} {
		if got, err := encode(nil, "7", end); err != nil || string(got) != want {
			t.Errorf("got  %s, %v\nwant %s", got, err, want)
		}
	}
}

func TestTypedNeedsATemplateWithMetadata(t *testing.T) {
	encode, err := Typed(nil)
	if err != nil {
		t.Fatal(err)
	}
	if got, err := encode([]byte("before"), "7", false); string(got) != "before" || !errors.Is(err, ErrNoTemplate) {
		t.Errorf("without template: got %q, %v", got, err)
	}
	for _, template := range []string{"", "[]", `{"kind":"Pod"}`} {
		if _, err := Typed([]byte(template)); !errors.Is(err, ErrNoTemplate) {
			t.Errorf("template %q: %v", template, err)
		}
	}
}
