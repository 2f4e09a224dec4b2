package conformance

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"strings"
	"testing"

	"sluice/test/harness"
)

// Write is one write at an apiserver.
type Write struct {
	Method string          `json:"method"` // default: POST
	Path   string          `json:"path"`
	Object json.RawMessage `json:"object"` // for PATCH a merge patch
}

// send sends the write until its resource is served: a CRD is not served at once. What is deleted is there.
func (w Write) send(ctx context.Context, to server) (err error) {
	_ = harness.Poll(ctx, func() error {
		var a *harness.Response
		a, err = to.Raw("admin").Write(ctx, cmp.Or(w.Method, http.MethodPost), w.Path, string(w.Object))
		if a.Status == http.StatusNotFound && w.Method != http.MethodDelete {
			return err
		}
		return nil
	})
	return err
}

func sendAll(ctx context.Context, to server, writes ...Write) error {
	for _, w := range writes {
		if err := w.send(ctx, to); err != nil {
			return err
		}
	}
	return nil
}

// mustSend is sendAll for a test that cannot go on without the writes.
func mustSend(t *testing.T, to server, writes ...Write) {
	t.Helper()
	if err := sendAll(t.Context(), to, writes...); err != nil {
		t.Fatal(err)
	}
}

// object is the metadata of an object that tests read.
type object struct {
	Metadata struct{ Name, Namespace, ResourceVersion, UID string }
}

// server is an apiserver or a Sluice.
type server interface {
	Raw(user string) *harness.RawClient
}

func fetch(ctx context.Context, s server, path string, into any) error {
	a, err := s.Raw("admin").Get(ctx, path, "application/json")
	if err == nil && a.Status != http.StatusOK {
		err = fmt.Errorf("GET %s: %d: %s", path, a.Status, a.Body)
	}
	if err != nil {
		return err
	}
	return json.Unmarshal(a.Body, into)
}

// mustList is fetch for a test that cannot go on without the list.
func mustList(t *testing.T, s server, path string) (l list) {
	t.Helper()
	if err := fetch(t.Context(), s, path, &l); err != nil {
		t.Fatal(err)
	}
	return l
}

// populate creates the objects: those of the files, collections that are large enough to be
// compressed, and objects with the sizes at which headers change.
func populate(ctx context.Context) error {
	if err := errors.Join(createAll(ctx, apiserver, objects), createAll(ctx, apiserver, "testdata/aggregated.yaml")); err != nil {
		return err
	}
	writes := []Write{{Path: "/apis/ex.io/v1/namespaces/o/foos", Object: json.RawMessage(floats)}}
	text := strings.Repeat("text ", 2000)
	for i := range 20 {
		writes = append(writes, padded("big", fmt.Sprintf("sa%d", i), text), Write{
			Path:   "/apis/ex.io/v1/namespaces/big/foos",
			Object: fmt.Appendf(nil, `{"apiVersion":"ex.io/v1","kind":"Foo","metadata":{"name":"f%d"},"spec":{"text":%q}}`, i, text),
		})
	}
	err := sendAll(ctx, apiserver, writes...)
	for _, size := range []int{2048, 2049, 4096, 4097, 131072, 131073} {
		err = errors.Join(err, createSized(ctx, size))
	}
	return err
}

const objects = "testdata/objects.yaml"

// floats has floats that JSON responses print as integers. YAML does not tell them from integers either.
const floats = `{"apiVersion":"ex.io/v1","kind":"Foo","metadata":{"name":"floats"},"spec":{"one":1.0,"eight":8.0,"int":8,"zero":0.0,"negative":-2.0,
	"minus zero":-0.0,"million":1e6,"large":1e20,"larger":1e21,"largest":1.5e300,"small":1e-7,"half":0.5,"text":"1.0","1.0":[2.0,{"3.0":3.0}]}}`

// createAll sends the writes of a file.
func createAll(ctx context.Context, at server, file string) error {
	var writes []Write
	if err := read(file, &writes); err != nil {
		return err
	}
	return sendAll(ctx, at, writes...)
}

// padded creates a ServiceAccount whose size grows with the text.
func padded(namespace, name, text string) Write {
	return Write{
		Path:   "/api/v1/namespaces/" + namespace + "/serviceaccounts",
		Object: fmt.Appendf(nil, `{"metadata":{"name":%q,"annotations":{"k":%q}}}`, name, text),
	}
}

// createSized creates an object whose JSON has this size, in bytes.
func createSized(ctx context.Context, size int) error {
	name := fmt.Sprintf("s%d", size)
	path := padded("size", name, "").Path + "/" + name
	pad := 0
	return harness.Poll(ctx, func() error {
		_, _ = apiserver.Raw("admin").Write(ctx, http.MethodDelete, path, "") // fails the first time
		if err := padded("size", name, strings.Repeat("x", pad)).send(ctx, apiserver); err != nil {
			return err
		}
		a, err := apiserver.Raw("admin").Get(ctx, path, "application/json")
		if err != nil || len(a.Body) == size {
			return err
		}
		pad += size - len(a.Body)
		return fmt.Errorf("%s has %d bytes", name, len(a.Body))
	})
}
