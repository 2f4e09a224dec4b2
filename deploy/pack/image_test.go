package main

import (
	"archive/tar"
	"bytes"
	"crypto/sha256"
	"errors"
	"fmt"
	"io"
	"log"
	"net/http"
	"net/http/httptest"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strings"
	"testing"

	"github.com/google/go-containerregistry/pkg/registry"
	v1 "github.com/google/go-containerregistry/pkg/v1"
	"github.com/google/go-containerregistry/pkg/v1/layout"
	"github.com/google/go-containerregistry/pkg/v1/types"
	spdxjson "github.com/spdx/tools-golang/json"
)

// sources is what make image reads of the repository.
var sources = []string{"cmd", "proxy", "codec", "cache", "config", "deploy", "docs", "go.mod", "go.sum", "Makefile", "LICENSE", "test/controlplane/build.mk"}

// makeImage runs make image in a copy of the repository, for one platform, and returns the folder that it
// fills.
func makeImage(t *testing.T, environment ...string) string {
	t.Helper()
	dir := t.TempDir()
	for _, name := range sources {
		target := filepath.Join(dir, name)
		if err := os.MkdirAll(filepath.Dir(target), 0o755); err != nil {
			t.Fatal(err)
		}
		if out, err := exec.Command("cp", "-r", filepath.Join("../..", name), target).CombinedOutput(); err != nil {
			t.Fatalf("%s: %v", out, err)
		}
	}
	c := exec.CommandContext(t.Context(), "make", "image", "VERSION=v1.2.3", "REVISION=abc", "PLATFORMS=linux/"+runtime.GOARCH)
	c.Dir = dir
	c.Env = append(append(os.Environ(), "SOURCE_DATE_EPOCH=1700000000"), environment...)
	if out, err := c.CombinedOutput(); err != nil {
		t.Fatalf("make image: %v\n%s", err, out)
	}
	return filepath.Join(dir, "bin", "image")
}

func TestImagesOfEqualSourcesAreEqual(t *testing.T) {
	one := makeImage(t, "TZ=Asia/Tokyo")
	two := makeImage(t, "TZ=America/Lima", "GOAMD64=v3", "GOFLAGS=-buildvcs=true", "GOPROXY=off", "TMPDIR="+t.TempDir())
	for _, name := range []string{"sluice.tar", "sluice-linux-" + runtime.GOARCH + ".spdx.json", "SHA256SUMS"} {
		a, b := sum(t, filepath.Join(one, name)), sum(t, filepath.Join(two, name))
		if a != b {
			t.Errorf("%s: %s in one directory, %s in another", name, a, b)
		}
	}
	checkSums(t, one)
	checkImage(t, filepath.Join(one, "sluice.tar"))
	checkSBOM(t, filepath.Join(one, "sluice-linux-"+runtime.GOARCH+".spdx.json"))
	t.Run("registry", func(t *testing.T) { checkPush(t, filepath.Join(one, "sluice.tar")) })
}

// checkPush brings an image to a registry by the command of docs/deploying.md.
func checkPush(t *testing.T, archive string) {
	if _, err := exec.LookPath("skopeo"); err != nil {
		t.Skip("skopeo is not installed")
	}
	guide, err := os.ReadFile("../../docs/deploying.md")
	if err != nil {
		t.Fatal(err)
	}
	_, command, found := strings.Cut(string(guide), "<!-- deploy/pack: registry -->\n\n")
	if command, _, _ = strings.Cut(command, "\n"); !found {
		t.Fatal("docs/deploying.md has no such command")
	}
	server := httptest.NewServer(registry.New(registry.Logger(log.New(t.Output(), "", 0))))
	defer server.Close()
	address := server.Listener.Addr().String()
	command = strings.NewReplacer("bin/image/sluice.tar", archive, "registry.example.com", address).Replace(command)
	policy := filepath.Join(t.TempDir(), "policy.json")
	if err := os.WriteFile(policy, []byte(`{"default": [{"type": "insecureAcceptAnything"}]}`), 0o600); err != nil {
		t.Fatal(err)
	}
	command = strings.Replace(command, "skopeo copy", "skopeo --policy="+policy+" copy --dest-tls-verify=false", 1)
	if out, err := exec.CommandContext(t.Context(), "bash", "-c", command).CombinedOutput(); err != nil {
		t.Fatalf("%s: %v\n%s", command, err, out)
	}
	packed, err := openArchive(t, archive).IndexManifest()
	if err != nil {
		t.Fatal(err)
	}
	for _, name := range []string{"v1", packed.Manifests[0].Digest.String()} { // skopeo writes the index anew
		response, err := http.Head(server.URL + "/v2/sluice/manifests/" + name)
		if err != nil {
			t.Fatal(err)
		}
		response.Body.Close()
		if response.StatusCode != http.StatusOK {
			t.Errorf("%s: %s", name, response.Status)
		}
	}
}

func sum(t *testing.T, path string) string {
	t.Helper()
	data, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	return fmt.Sprintf("%x", sha256.Sum256(data))
}

func checkSums(t *testing.T, dir string) {
	c := exec.Command("sha256sum", "--check", "--strict", "SHA256SUMS")
	c.Dir = dir
	if out, err := c.CombinedOutput(); err != nil || strings.Count(string(out), "\n") != 2 {
		t.Errorf("sha256sum: %v\n%s", err, out)
	}
}

// checkImage checks the laws of the image: one static program, run by a user who owns nothing but its home,
// nothing that others can write, nothing that tells when or where it was built.
func checkImage(t *testing.T, archive string) {
	index := openArchive(t, archive)
	manifest, err := index.IndexManifest()
	if err != nil {
		t.Fatal(err)
	}
	if len(manifest.Manifests) != 1 || manifest.MediaType != types.OCIImageIndex || manifest.Annotations["org.opencontainers.image.version"] != "v1.2.3" {
		t.Fatalf("index %+v", manifest)
	}
	if p := manifest.Manifests[0].Platform; p == nil || p.String() != "linux/"+runtime.GOARCH {
		t.Errorf("platform %v", p)
	}
	img, err := index.Image(manifest.Manifests[0].Digest)
	if err != nil {
		t.Fatal(err)
	}
	config, err := img.ConfigFile()
	if err != nil {
		t.Fatal(err)
	}
	if c := config.Config; c.User != "65532:65532" || c.Entrypoint[0] != "/sluice" || c.Labels["org.opencontainers.image.revision"] != "abc" {
		t.Errorf("config %+v", c)
	}
	if config.Created.Unix() != 1700000000 || config.Author != "" || config.Container != "" {
		t.Errorf("config tells when or where it was built: %+v", config)
	}
	files := map[string][]byte{}
	layers, err := img.Layers()
	if err != nil {
		t.Fatal(err)
	}
	for _, l := range layers {
		checkLayer(t, l, files)
	}
	if len(files) != 4 { // passwd, group, ca-certificates.crt and sluice: no shell, no package manager
		t.Errorf("the image holds %d files, want 4", len(files))
	}
	if n := bytes.Count(files["etc/ssl/certs/ca-certificates.crt"], []byte("BEGIN CERTIFICATE")); n < 100 {
		t.Errorf("%d certificate authorities", n)
	}
	program := filepath.Join(t.TempDir(), "sluice")
	if err := os.WriteFile(program, files["sluice"], 0o755); err != nil {
		t.Fatal(err)
	}
	if _, err := readStatic(program, runtime.GOARCH); err != nil {
		t.Error(err)
	}
	if out, err := exec.Command(program, "version").CombinedOutput(); err != nil || !strings.Contains(string(out), "v1.2.3") {
		t.Errorf("version: %v\n%s", err, out)
	}
}

func checkLayer(t *testing.T, l v1.Layer, files map[string][]byte) {
	t.Helper()
	r, err := l.Uncompressed()
	if err != nil {
		t.Fatal(err)
	}
	defer r.Close()
	for archive := tar.NewReader(r); ; {
		h, err := archive.Next()
		if errors.Is(err, io.EOF) {
			return
		}
		if err != nil {
			t.Fatal(err)
		}
		mode := h.FileInfo().Mode()
		if mode.Perm()&0o022 != 0 || mode&(os.ModeSetuid|os.ModeSetgid|os.ModeSymlink) != 0 {
			t.Errorf("%s has mode %v", h.Name, mode)
		}
		if h.Uid != 0 && h.Name != home+"/" || h.ModTime.Unix() != 1700000000 || h.Uname != "" {
			t.Errorf("%s belongs to %d %q, changed at %v", h.Name, h.Uid, h.Uname, h.ModTime)
		}
		if h.Typeflag == tar.TypeReg {
			if files[h.Name], err = io.ReadAll(archive); err != nil {
				t.Fatal(err)
			}
		}
	}
}

// openArchive unpacks an OCI archive and returns the index that is named in it.
func openArchive(t *testing.T, archive string) v1.ImageIndex {
	t.Helper()
	dir := t.TempDir()
	if out, err := exec.Command("tar", "xf", archive, "-C", dir).CombinedOutput(); err != nil {
		t.Fatalf("%s: %v", out, err)
	}
	outer, err := layout.ImageIndexFromPath(dir)
	if err != nil {
		t.Fatal(err)
	}
	manifest, err := outer.IndexManifest()
	if err != nil {
		t.Fatal(err)
	}
	if len(manifest.Manifests) != 1 || manifest.Manifests[0].Annotations["io.containerd.image.name"] != "localhost/sluice:dev" {
		t.Fatalf("index.json %+v", manifest)
	}
	index, err := outer.ImageIndex(manifest.Manifests[0].Digest)
	if err != nil {
		t.Fatal(err)
	}
	return index
}

func checkSBOM(t *testing.T, path string) {
	f, err := os.Open(path)
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	document, err := spdxjson.Read(f)
	if err != nil {
		t.Fatal(err)
	}
	names, ids := map[string]bool{}, map[string]bool{}
	for _, p := range document.Packages {
		names[p.PackageName] = true
		if id := string(p.PackageSPDXIdentifier); ids[id] {
			t.Errorf("the identifier %s stands twice", id)
		} else {
			ids[id] = true
		}
	}
	for _, want := range []string{"sluice", "stdlib", "k8s.io/apimachinery", "google.golang.org/protobuf"} {
		if !names[want] {
			t.Errorf("the document lacks %s", want)
		}
	}
	if names["k8s.io/kubernetes"] || names["sigs.k8s.io/controller-runtime"] {
		t.Error("the document lists what is not linked")
	}
}

func TestOnlyStaticBinariesOfTheArchitectureArePacked(t *testing.T) {
	other := map[string]string{"amd64": "arm64", "arm64": "amd64"}[runtime.GOARCH]
	for _, tt := range []struct{ path, arch, want string }{
		{"/bin/sh", runtime.GOARCH, "CGO_ENABLED=0"},
		{"/bin/sh", other, "not for " + other},
		{"/bin/sh", "s390x", "not supported"},
		{"image_test.go", "amd64", "bad magic"},
	} {
		if _, err := readStatic(tt.path, tt.arch); err == nil || !strings.Contains(err.Error(), tt.want) {
			t.Errorf("%s for %s: %v, want %q", tt.path, tt.arch, err, tt.want)
		}
	}
}

// TestArchivesAreReproducible writes an archive twice, from files of different times and modes.
func TestArchivesAreReproducible(t *testing.T) {
	t.Setenv("SOURCE_DATE_EPOCH", "1700000000")
	pack := func(mode os.FileMode) string {
		dir := t.TempDir()
		program, out := filepath.Join(dir, "program"), filepath.Join(dir, "sluice-v1-linux-amd64.tar.gz")
		if err := os.WriteFile(program, []byte("x"), mode); err != nil {
			t.Fatal(err)
		}
		plugin := filepath.Join(dir, "plugin")
		if err := os.Symlink("sluice", plugin); err != nil {
			t.Fatal(err)
		}
		if err := run([]string{"archive", "-out", out, "LICENSE=../../LICENSE", "sluice=" + program, "kubectl-sluice=" + plugin}); err != nil {
			t.Fatal(err)
		}
		return out
	}
	one, two := pack(0o700), pack(0o755)
	if sum(t, one) != sum(t, two) {
		t.Error("the archives differ")
	}
	out, err := exec.Command("tar", "tvf", one).CombinedOutput()
	if err != nil {
		t.Error(err)
	}
	for _, want := range []string{"-rwxr-xr-x 0/0", "sluice-v1-linux-amd64/LICENSE", "sluice-v1-linux-amd64/kubectl-sluice -> sluice\n"} {
		if !strings.Contains(string(out), want) {
			t.Errorf("no %q in\n%s", want, out)
		}
	}
}

func TestWrongArgumentsSayWhatToDo(t *testing.T) {
	t.Setenv("SOURCE_DATE_EPOCH", "soon")
	if err := run([]string{"sbom", "-out", "x", "y"}); err == nil || !strings.Contains(err.Error(), "set SOURCE_DATE_EPOCH") {
		t.Error(err)
	}
	t.Setenv("SOURCE_DATE_EPOCH", "1")
	for _, args := range [][]string{nil, {"push", "-out", "x", "y"}, {"image", "-out", "x"}, {"image", "-out", "x", "linux/amd64"}, {"image", "-out", "x", "plan9/amd64=/bin/sh"}} {
		if err := run(args); err == nil {
			t.Errorf("%v is accepted", args)
		}
	}
}
