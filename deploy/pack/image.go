package main

import (
	"bytes"
	"compress/gzip"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strings"

	v1 "github.com/google/go-containerregistry/pkg/v1"
	"github.com/google/go-containerregistry/pkg/v1/empty"
	"github.com/google/go-containerregistry/pkg/v1/layout"
	"github.com/google/go-containerregistry/pkg/v1/mutate"
	"github.com/google/go-containerregistry/pkg/v1/tarball"
	"github.com/google/go-containerregistry/pkg/v1/types"
)

// writeImage writes an OCI archive: a tar of an OCI image layout with one index, which has one manifest per
// platform. Arguments are OS/ARCH=BINARY.
func writeImage(o options, args []string) error {
	var adds []mutate.IndexAddendum
	for _, arg := range args {
		platform, binary, err := assignment(arg)
		if err != nil {
			return err
		}
		add, err := platformImage(o, platform, binary)
		if err != nil {
			return err
		}
		adds = append(adds, add)
	}
	index := mutate.AppendManifests(mutate.IndexMediaType(empty.Index, types.OCIImageIndex), adds...)
	index = mutate.Annotations(index, labels(o)).(v1.ImageIndex)
	return writeLayout(o, index)
}

func platformImage(o options, platform, binary string) (mutate.IndexAddendum, error) {
	var add mutate.IndexAddendum
	system, arch, _ := strings.Cut(platform, "/")
	if system != "linux" {
		return add, fmt.Errorf("platform %q is not supported; images are for linux", platform)
	}
	program, err := readStatic(binary, arch)
	if err != nil {
		return add, err
	}
	img := mutate.ConfigMediaType(mutate.MediaType(empty.Image, types.OCIManifestSchema1), types.OCIConfigJSON)
	// The base changes rarely, so a layer of its own saves nodes from fetching it again.
	for _, entries := range [][]entry{baseEntries(), {{name: "sluice", mode: 0o755, data: program}}} {
		layer, err := layerOf(o, entries)
		if err != nil {
			return add, err
		}
		created := v1.History{Created: v1.Time{Time: o.epoch}, CreatedBy: "sluice/deploy/pack", Comment: entries[0].name}
		if img, err = mutate.Append(img, mutate.Addendum{Layer: layer, History: created}); err != nil {
			return add, err
		}
	}
	config, err := img.ConfigFile()
	if err != nil {
		return add, err
	}
	config = config.DeepCopy()
	config.OS, config.Architecture, config.Created = system, arch, v1.Time{Time: o.epoch}
	config.Config = v1.Config{
		Entrypoint: []string{"/sluice"}, Cmd: []string{"serve"},
		User: fmt.Sprintf("%d:%d", nonroot, nonroot), WorkingDir: "/" + home,
		Env:    []string{"PATH=/", "HOME=/" + home},
		Labels: labels(o),
	}
	if img, err = mutate.ConfigFile(img, config); err != nil {
		return add, err
	}
	img = mutate.Annotations(img, labels(o)).(v1.Image)
	add = mutate.IndexAddendum{Add: img, Descriptor: v1.Descriptor{Platform: &v1.Platform{OS: system, Architecture: arch}}}
	return add, nil
}

func layerOf(o options, entries []entry) (v1.Layer, error) {
	data, err := tarBytes(entries, o.epoch)
	if err != nil {
		return nil, err
	}
	return tarball.LayerFromOpener(func() (io.ReadCloser, error) { return io.NopCloser(bytes.NewReader(data)), nil },
		tarball.WithMediaType(types.OCILayer), tarball.WithCompressionLevel(gzip.DefaultCompression), tarball.WithCompressedCaching)
}

// labels are the annotations of the OCI image specification. The licence is an SPDX expression.
func labels(o options) map[string]string {
	l := map[string]string{
		"org.opencontainers.image.title":       "sluice",
		"org.opencontainers.image.description": "A streaming gateway in front of a kube-apiserver",
		"org.opencontainers.image.licenses":    "Apache-2.0",
		"org.opencontainers.image.version":     o.version,
		"org.opencontainers.image.created":     o.epoch.Format("2006-01-02T15:04:05Z"),
	}
	if o.revision != "" {
		l["org.opencontainers.image.revision"] = o.revision
	}
	return l
}

// writeLayout writes an index to an OCI layout and puts that into a tar. containerd takes the image's name
// from its own annotation, other tools from the standard one.
func writeLayout(o options, index v1.ImageIndex) error {
	dir, err := os.MkdirTemp("", "sluice-image")
	if err != nil {
		return err
	}
	defer os.RemoveAll(dir)
	path, err := layout.Write(dir, empty.Index)
	if err != nil {
		return err
	}
	names := layout.WithAnnotations(map[string]string{
		"io.containerd.image.name":          o.name,
		"org.opencontainers.image.ref.name": o.name,
	})
	if err := path.AppendIndex(index, names); err != nil {
		return err
	}
	entries, err := readTree(dir)
	if err != nil {
		return err
	}
	return create(o.out, func(w io.Writer) error { return writeTar(w, entries, o.epoch) })
}

// readTree reads a directory, sorted by name.
func readTree(dir string) ([]entry, error) {
	var entries []entry
	err := filepath.WalkDir(dir, func(path string, d os.DirEntry, err error) error {
		if err != nil || path == dir {
			return err
		}
		rel, err := filepath.Rel(dir, path)
		if err != nil {
			return err
		}
		if d.IsDir() {
			entries = append(entries, entry{name: filepath.ToSlash(rel) + "/", mode: 0o755})
			return nil
		}
		data, err := os.ReadFile(path)
		entries = append(entries, entry{name: filepath.ToSlash(rel), mode: 0o644, data: data})
		return err
	})
	slices.SortFunc(entries, func(a, b entry) int { return strings.Compare(a.name, b.name) })
	return entries, err
}

// create writes a file that appears only when it is complete.
func create(path string, write func(io.Writer) error) error {
	f, err := os.CreateTemp(filepath.Dir(path), ".pack-*")
	if err != nil {
		return err
	}
	defer os.Remove(f.Name())
	if err := errors.Join(write(f), f.Chmod(0o644), f.Close()); err != nil {
		return fmt.Errorf("%s: %w", path, err)
	}
	return os.Rename(f.Name(), path)
}
