package conformance

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"strings"

	"sluice/test/harness"
)

// Write is one write at an apiserver.
type Write struct {
	Method string          `json:"method"` // default: POST
	Path   string          `json:"path"`
	Object json.RawMessage `json:"object"` // for PATCH a merge patch
}

func (w Write) send(ctx context.Context) error { return w.sendTo(ctx, apiserver) }

func (w Write) sendTo(ctx context.Context, to server) error {
	a, err := to.Raw("admin").Write(ctx, cmp.Or(w.Method, http.MethodPost), w.Path, string(w.Object))
	if a.Status == http.StatusNotFound {
		err = fmt.Errorf("%w: %w", errNotFound, err)
	}
	return err
}

// sendWhenServed sends the write until its resource is served: a CRD is not served at once.
func (w Write) sendWhenServed(ctx context.Context, to server) (err error) {
	timeout := harness.Poll(ctx, func() error {
		if err = w.sendTo(ctx, to); errors.Is(err, errNotFound) {
			return err
		}
		return nil
	})
	return cmp.Or(timeout, err)
}

var errNotFound = errors.New("not found")

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

// populate creates the objects: those of the files, collections that are large enough to be
// compressed, and objects with the sizes at which headers change.
func populate(ctx context.Context) error {
	for _, file := range []string{objects, "testdata/aggregated.yaml"} {
		if err := createAll(ctx, apiserver, file); err != nil {
			return err
		}
	}
	if err := (Write{Path: "/apis/ex.io/v1/namespaces/o/foos", Object: json.RawMessage(floats)}).send(ctx); err != nil {
		return err
	}
	for i := range 20 {
		account := padded("big", fmt.Sprintf("sa%d", i), strings.Repeat("text ", 2000))
		custom := Write{
			Path:   "/apis/ex.io/v1/namespaces/big/foos",
			Object: fmt.Appendf(nil, `{"apiVersion":"ex.io/v1","kind":"Foo","metadata":{"name":"f%d"},"spec":{"text":%q}}`, i, strings.Repeat("text ", 2000)),
		}
		for _, w := range []Write{account, custom} {
			if err := w.send(ctx); err != nil {
				return err
			}
		}
	}
	for _, size := range []int{2048, 2049, 4096, 4097, 131072, 131073} {
		if err := createSized(ctx, size); err != nil {
			return err
		}
	}
	return nil
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
	for _, w := range writes {
		if err := w.sendWhenServed(ctx, at); err != nil {
			return err
		}
	}
	return nil
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
		_ = Write{Method: http.MethodDelete, Path: path}.send(ctx) // fails the first time
		if err := padded("size", name, strings.Repeat("x", pad)).send(ctx); err != nil {
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
