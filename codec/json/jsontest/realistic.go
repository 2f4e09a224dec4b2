package jsontest

import (
	"bytes"
	_ "embed"
)

//go:embed testdata/pod.json
var pod []byte

//go:embed testdata/configmap.json
var configMap []byte

//go:embed testdata/custom.json
var custom []byte

// Realistic returns objects of the size and make-up that clusters are full
// of, as the apiserver prints them: a running pod of a deployment and a
// config map with files in it, in struct order, and a custom resource, its
// members sorted.
func Realistic() []File {
	files := []File{{"pod", pod}, {"configmap", configMap}, {"custom", custom}}
	for i, f := range files {
		files[i].JSON = bytes.TrimSpace(f.JSON)
	}
	return files
}
