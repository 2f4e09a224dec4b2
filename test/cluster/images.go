package cluster

import (
	"archive/tar"
	"crypto/sha256"
	"encoding/json"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"testing"
	"time"

	"sluice/test/harness"
)

// Images of the tests. Names are whole, so that no registry is assumed.
const (
	pauseImage  = "localhost/pause:test"
	clientImage = "localhost/client:test"
)

// loadTestImages loads the image of the client, and the same program as the container of pods' sandboxes.
func (n *Node) loadTestImages(t *testing.T) {
	t.Helper()
	program, err := harness.Binary("cluster-client")
	if err != nil {
		t.Fatal(err)
	}
	n.loadImage(t, buildImage(t, pauseImage, program, "/client", "pause"))
	n.loadImage(t, buildImage(t, clientImage, program, "/client", "serve"))
}

// loadImage imports an image archive into containerd, as soon as that answers.
func (n *Node) loadImage(t *testing.T, archive string) {
	t.Helper()
	harness.Eventually(t, "import of "+archive, func() error {
		out, err := exec.Command("ctr", "--address", n.Socket, "--namespace", "k8s.io", "images", "import", archive).CombinedOutput()
		if err != nil {
			return fmt.Errorf("%w: %s", err, out)
		}
		return nil
	})
}

// buildImage writes a Docker image archive of one static program, and returns its path.
func buildImage(t *testing.T, name, program string, command ...string) string {
	t.Helper()
	content, err := os.ReadFile(program)
	if err != nil {
		t.Fatal(err)
	}
	dir := t.TempDir()
	layer := filepath.Join(dir, "layer.tar")
	writeTar(t, layer, []tarFile{
		{name: "client", mode: 0o755, content: content},
		{name: "tmp/", mode: 0o777},
	})
	packed, err := os.ReadFile(layer)
	if err != nil {
		t.Fatal(err)
	}
	config := encode(t, map[string]any{
		"architecture": runtime.GOARCH, "os": "linux", "created": time.Unix(0, 0).UTC(),
		"config": map[string]any{"Entrypoint": command, "User": "65532:65532", "Env": []string{"PATH=/"}},
		"rootfs": map[string]any{"type": "layers", "diff_ids": []string{fmt.Sprintf("sha256:%x", sha256.Sum256(packed))}},
	})
	archive := filepath.Join(dir, "image.tar")
	writeTar(t, archive, []tarFile{
		{name: "manifest.json", content: encode(t, []any{map[string]any{
			"Config": "config.json", "RepoTags": []string{name}, "Layers": []string{"layer.tar"},
		}})},
		{name: "config.json", content: config},
		{name: "layer.tar", content: packed},
	})
	return archive
}

func encode(t *testing.T, v any) []byte {
	t.Helper()
	raw, err := json.Marshal(v)
	if err != nil {
		t.Fatal(err)
	}
	return raw
}

// tarFile is a file, or a directory if its name ends with a slash.
type tarFile struct {
	name    string
	mode    int64
	content []byte
}

func writeTar(t *testing.T, path string, files []tarFile) {
	t.Helper()
	f, err := os.Create(path)
	if err != nil {
		t.Fatal(err)
	}
	w := tar.NewWriter(f)
	for _, file := range files {
		head := &tar.Header{Name: file.name, Mode: file.mode, Size: int64(len(file.content)), Typeflag: tar.TypeReg}
		if file.name[len(file.name)-1] == '/' {
			head.Typeflag = tar.TypeDir
		}
		if err := w.WriteHeader(head); err != nil {
			t.Fatal(err)
		}
		if _, err := w.Write(file.content); err != nil {
			t.Fatal(err)
		}
	}
	if err := w.Close(); err != nil {
		t.Fatal(err)
	}
	if err := f.Close(); err != nil {
		t.Fatal(err)
	}
}
