package cluster

import (
	"archive/tar"
	"bytes"
	"crypto/sha256"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"testing"
	"testing/fstest"

	"sluice/test/harness"
)

// Images of the tests. Names are whole, so that no registry is assumed.
const (
	pauseImage  = "localhost/pause:test"
	clientImage = "localhost/client:test"
)

// loadTestImages imports the image of the client into containerd, as soon as that answers, and the same program as the
// container of pods' sandboxes.
func (n *Node) loadTestImages(t *testing.T) {
	t.Helper()
	program, err := os.ReadFile(harness.Program(t, "cluster-client"))
	if err != nil {
		t.Fatal(err)
	}
	layer := pack(t, fstest.MapFS{"client": {Data: program, Mode: 0o755}})
	files := fstest.MapFS{"layer.tar": {Data: layer}, "manifest.json": {Data: fmt.Appendf(nil,
		`[{"Config": "pause.json", "RepoTags": [%q], "Layers": ["layer.tar"]}, {"Config": "serve.json", "RepoTags": [%q], "Layers": ["layer.tar"]}]`,
		pauseImage, clientImage)}}
	for _, command := range []string{"pause", "serve"} {
		files[command+".json"] = &fstest.MapFile{Data: fmt.Appendf(nil, `{"architecture": %q, "os": "linux",
			"config": {"Entrypoint": ["/client", %q], "User": "65532:65532", "Env": ["PATH=/"]},
			"rootfs": {"type": "layers", "diff_ids": ["sha256:%x"]}}`, runtime.GOARCH, command, sha256.Sum256(layer))}
	}
	archive := filepath.Join(t.TempDir(), "images.tar")
	if err := os.WriteFile(archive, pack(t, files), 0o600); err != nil {
		t.Fatal(err)
	}
	harness.Eventually(t, "import of the test's images", func() error {
		out, err := exec.Command("ctr", "--address", n.Socket, "--namespace", "k8s.io", "images", "import", archive).CombinedOutput()
		if err != nil {
			return fmt.Errorf("%w: %s", err, out)
		}
		return nil
	})
}

// pack returns a tar archive of files.
func pack(t *testing.T, files fstest.MapFS) []byte {
	t.Helper()
	var packed bytes.Buffer
	w := tar.NewWriter(&packed)
	if err := errors.Join(w.AddFS(files), w.Close()); err != nil {
		t.Fatal(err)
	}
	return packed.Bytes()
}
