package harness

import (
	"os"
	"os/exec"
	"regexp"
	"testing"
)

// unreachable is in npm's messages about a network without the registry.
var unreachable = regexp.MustCompile(`\b(ENOTFOUND|EAI_AGAIN|ECONNREFUSED|ECONNRESET|ENETUNREACH|EHOSTUNREACH|ETIMEDOUT|ERR_SOCKET_TIMEOUT|EIDLETIMEOUT|E429|E50[0-9])\b`)

// InstallNode copies folders of programs for Node.js to a temporary directory, installs the packages of the lock file
// there, and returns the directory. It skips the test without Node.js or npm, and, unless PEERS asks for every client, without
// the registry.
func InstallNode(t testing.TB, folders ...string) (dir string) {
	t.Helper()
	for _, program := range []string{"node", "npm"} {
		if _, err := exec.LookPath(program); err != nil {
			t.Skip(program + " is not installed")
		}
	}
	dir = t.TempDir()
	for _, folder := range folders {
		if err := os.CopyFS(dir, os.DirFS(folder)); err != nil {
			t.Fatal(err)
		}
	}
	// By its defaults npm waits for a registry that does not respond for a quarter of an hour.
	install := exec.CommandContext(t.Context(), "npm", "ci", "--ignore-scripts", "--no-audit", "--no-fund", "--prefer-offline",
		"--fetch-retries=1", "--fetch-timeout=60000")
	install.Dir = dir
	switch out, err := install.CombinedOutput(); {
	case err != nil && unreachable.Match(out) && os.Getenv("PEERS") == "":
		t.Skip("npm does not reach its registry")
	case err != nil:
		t.Fatalf("npm ci: %v\n%s", err, out)
	}
	return dir
}
