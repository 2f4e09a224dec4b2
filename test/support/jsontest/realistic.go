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

// Realistic returns objects of common size and content as the apiserver prints them: a running pod
// of a deployment and a config map of files, with members in the order of the Go struct, and a
// custom resource with sorted members.
func Realistic() []File {
	files := []File{{"pod", pod}, {"configmap", configMap}, {"custom", custom}}
	for i, f := range files {
		files[i].JSON = bytes.TrimSpace(f.JSON)
	}
	return files
}
