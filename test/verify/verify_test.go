package verify

import (
	"context"
	"errors"
	"fmt"
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
		if err := apiserver.Create(context.Background(), "/api/v1/namespaces/default/configmaps", fmt.Sprintf(`{"metadata":{"name":%q}}`, name)); err != nil {
			return 1, err
		}
	}
	return m.Run(), nil
}
