// Package files notices that files have changed. It compares content instead of watching inodes, so that
// the two levels of symbolic links of mounted ConfigMaps and Secrets work without special treatment.
package files

import (
	"bytes"
	"context"
	"os"
	"time"

	"k8s.io/apimachinery/pkg/util/wait"
)

// Interval is how often files are looked at. A change is noticed when two looks agree on it, so after one
// to two intervals.
const Interval = 5 * time.Second

// Files are looked at again and again. They are not safe for concurrent use.
type Files struct {
	paths []string
	known []byte // the content of the last reported change
	last  []byte // the content at the last look
}

// New returns the files at paths as they are now.
func New(paths ...string) *Files {
	f := &Files{paths: paths}
	f.known = f.content()
	f.last = f.known
	return f
}

// Changed looks at the files and reports whether they differ from those of the last report. Files that the
// look before has seen otherwise may still be being written: they are not reported yet. A file that cannot
// be read differs from one that can.
func (f *Files) Changed() bool {
	content := f.content()
	settled := bytes.Equal(content, f.last)
	f.last = content
	if !settled || bytes.Equal(content, f.known) {
		return false
	}
	f.known = content
	return true
}

// content returns the content of all files, with the error in place of one that cannot be read.
func (f *Files) content() []byte {
	var all [][]byte
	for _, path := range f.paths {
		content, err := os.ReadFile(path)
		if err != nil {
			content = []byte(err.Error())
		}
		all = append(all, content)
	}
	return bytes.Join(all, []byte{0})
}

// Follow calls changed after each change, until ctx ends.
func (f *Files) Follow(ctx context.Context, changed func()) {
	wait.UntilWithContext(ctx, func(context.Context) {
		if f.Changed() {
			changed()
		}
	}, Interval)
}
