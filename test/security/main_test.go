package security

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"testing"

	"sluice/test/harness"
)

// The tests share a control plane whose front-proxy headers have more names than the usual ones, and a Sluice
// that is its front proxy and remembers tokens for long.
var (
	plane  *harness.ControlPlane
	sluice *harness.Sluice
	// audits is the directory of the audit logs of both.
	audits string
)

func TestMain(m *testing.M) {
	harness.Main(m, 4, func(m *testing.M) (code int, err error) {
		if audits, err = os.MkdirTemp("", "audit-"); err != nil {
			return 1, err
		}
		defer os.RemoveAll(audits)
		policy := "apiVersion: audit.k8s.io/v1\nkind: Policy\nomitStages: [RequestReceived]\nrules: [{level: Metadata}]\n"
		if err := os.WriteFile(filepath.Join(audits, "policy.yaml"), []byte(policy), 0o600); err != nil {
			return 1, err
		}
		if plane, err = harness.StartMain(harness.Options{Flags: []string{
			"--requestheader-username-headers=X-My-User,X-Remote-User", "--requestheader-uid-headers=X-My-Uid,X-Remote-Uid",
			"--requestheader-group-headers=X-My-Group,X-Remote-Group", "--requestheader-extra-headers-prefix=X-My-Extra-,X-Remote-Extra-",
			"--audit-policy-file=" + filepath.Join(audits, "policy.yaml"), "--audit-log-path=" + filepath.Join(audits, "apiserver.log"), "--audit-log-mode=blocking",
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
audit: {path: %s}
`, pair, pair, filepath.Join(audits, "sluice.log"))}); err != nil {
			return 1, err
		}
		defer func() { err = errors.Join(err, sluice.Stop()) }()
		return m.Run(), nil
	})
}
