package clients

import (
	"bytes"
	"fmt"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
)

// curl prints the same with and without --compressed, and receives less.
func TestCurlDecompressesResponses(t *testing.T) {
	if _, err := exec.LookPath("curl"); err != nil {
		t.Skip("curl is not installed")
	}
	const roles = "/apis/rbac.authorization.k8s.io/v1/clusterroles" // those of every cluster are long enough
	sluice.WaitForCacheSync(t, roles, "clusterroles.v1.rbac.authorization.k8s.io")
	for _, protocol := range []string{"--http1.1", "--http2"} {
		read := func(args ...string) (body []byte, received int) {
			t.Helper()
			cmd := exec.CommandContext(t.Context(), "curl", append([]string{
				"-sSf", protocol, "--cacert", filepath.Join(sluice.Dir, "ca.crt"), "--config", "-", "-w", "\n%{size_download}",
				sluice.URL + roles + "?resourceVersion=0",
			}, args...)...)
			cmd.Stdin = strings.NewReader("oauth2-bearer = " + sluice.RESTConfig("admin").BearerToken)
			out, err := cmd.CombinedOutput()
			if err != nil {
				t.Fatalf("%v: %s", err, out)
			}
			end := bytes.LastIndexByte(out, '\n')
			if _, err := fmt.Sscan(string(out[end+1:]), &received); err != nil {
				t.Fatal(err)
			}
			return out[:end], received
		}
		plain, all := read()
		same, less := read("--compressed")
		if !bytes.Equal(plain, same) || len(plain) != all || less > all/2 {
			t.Errorf("%s: %d bytes, compressed %d, printed %d and %d", protocol, all, less, len(plain), len(same))
		}
	}
}
