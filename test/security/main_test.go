package security

import (
	"errors"
	"fmt"
	"path/filepath"
	"testing"

	"sluice/test/harness"
)

// The tests share a control plane whose front-proxy headers have more names than the usual ones, and a Sluice
// that is its front proxy and remembers tokens for long.
var (
	plane  *harness.ControlPlane
	sluice *harness.Sluice
)

func TestMain(m *testing.M) {
	harness.Main(m, 4, func(m *testing.M) (code int, err error) {
		if plane, err = harness.StartMain(harness.Options{Flags: []string{
			"--requestheader-username-headers=X-My-User,X-Remote-User", "--requestheader-uid-headers=X-My-Uid,X-Remote-Uid",
			"--requestheader-group-headers=X-My-Group,X-Remote-Group", "--requestheader-extra-headers-prefix=X-My-Extra-,X-Remote-Extra-",
		}}); err != nil {
			return 1, err
		}
		defer func() { err = errors.Join(err, plane.Stop()) }()
		pair := filepath.Join(plane.Dir, "front-proxy-client")
		if sluice, err = plane.StartSluiceMain(harness.SluiceOptions{Config: fmt.Sprintf(`
apiVersion: sluice/v1alpha1
kind: Configuration
upstream: {frontProxy: {certFile: %s.crt, keyFile: %s.key}}
authentication: {tokenTTL: 1h}
`, pair, pair)}); err != nil {
			return 1, err
		}
		defer func() { err = errors.Join(err, sluice.Stop()) }()
		return m.Run(), nil
	})
}
