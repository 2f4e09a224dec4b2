package listwatch

import (
	"fmt"
	"io"
	"iter"
	"mime"
	"strconv"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"sluice/cache/tree"
)

// encoding reads responses in one encoding. Its results may alias its arguments.
type encoding interface {
	// list reads a list, or one page of it.
	list(body []byte) (list, error)
	// metadata reads the metadata of an object.
	metadata(object []byte) (metadata, error)
	// status reads a Status.
	status(object []byte) (metav1.Status, error)
	// events returns a reader of the events of a watch; buffer is how many bytes it may read ahead.
	events(body io.Reader, buffer int) eventReader
}

// eventReader reads the events of a watch.
type eventReader interface {
	// next returns the type and the object of the next event. The object is valid until the next
	// call. An event that cannot be read is an error that wraps reflector.ErrUnreadable.
	next() (eventType string, object []byte, err error)
}

// list is a list or a page of one.
type list struct {
	version   uint64
	continues string // the token of the next page; empty if there is none
	items     iter.Seq2[[]byte, error]
}

// metadata are the fields that are read of an object's metadata.
type metadata struct {
	namespace, name []byte
	version         uint64
	labels          iter.Seq2[[]byte, []byte]
	annotation      func(name string) string
	object          []byte // that the metadata is of, valid as long as it; nil of a deleted one
}

func (m *metadata) key() tree.Key { return tree.KeyOf(string(m.namespace), string(m.name)) }

func parseVersion(rv []byte) (uint64, error) {
	version, err := strconv.ParseUint(string(rv), 10, 64)
	if err != nil {
		return 0, fmt.Errorf("resource version: %w", err)
	}
	return version, nil
}

// mediaType returns a Content-Type without its parameters.
func mediaType(contentType string) string {
	t, _, _ := mime.ParseMediaType(contentType)
	return t
}
