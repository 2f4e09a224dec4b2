package verify

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"testing"
	"time"

	"sluice/test/harness"
)

// patience is so long that a busy machine is not taken for a broken proxy.
const patience = 30 * time.Second

var apiserver *harness.ControlPlane

func TestMain(m *testing.M) { harness.Main(m, 16, run) }

func run(m *testing.M) (code int, err error) {
	if apiserver, err = harness.StartMain(harness.Options{}); err != nil {
		return 1, err
	}
	defer func() { err = errors.Join(err, apiserver.Stop()) }()
	for _, name := range []string{"a", "b", "c"} {
		if err := post("/api/v1/namespaces/default/configmaps", fmt.Sprintf(`{"metadata":{"name":%q}}`, name)); err != nil {
			return 1, err
		}
	}
	return m.Run(), nil
}

// post creates an object.
func post(path, object string) error {
	a, err := apiserver.Raw("admin").Do(context.Background(), harness.Request{
		Method: http.MethodPost, Path: path, Body: []byte(object), Header: http.Header{"Content-Type": {"application/json"}},
	})
	if err == nil && a.Status != http.StatusCreated {
		err = fmt.Errorf("POST %s: %d %s", path, a.Status, a.Body)
	}
	return err
}
