package listwatch

import (
	"bufio"
	"encoding/binary"
	"fmt"
	"io"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"sluice/codec/proto"
)

// frameLimit bounds one event of a watch, in bytes. etcd accepts objects of 1.5 MiB; as JSON they can
// be several times as long.
const frameLimit = 32 << 20

// keptBuffer is how large a buffer of a watch may be that waits for its next event. The watches of a thousand resources
// would else each keep the longest event that they have had, which no budget knows.
const keptBuffer = 64 << 10

// protobufEncoding reads Protobuf. Its objects are raw messages, without envelope.
type protobufEncoding struct{}

func (protobufEncoding) list(body []byte) (list, error) {
	u, err := proto.ParseEnvelope(body)
	if err != nil {
		return list{}, err
	}
	meta, err := proto.ParseListMeta(u.Raw)
	if err != nil {
		return list{}, err
	}
	version, err := parseVersion([]byte(meta.ResourceVersion))
	return list{version: version, continues: meta.Continue, items: proto.Items(u.Raw)}, err
}

func (protobufEncoding) metadata(object []byte) (metadata, error) {
	meta, err := proto.ParseObjectMeta(object)
	if err != nil {
		return metadata{}, err
	}
	version, err := parseVersion(meta.ResourceVersion)
	return metadata{
		namespace: meta.Namespace, name: meta.Name, version: version, labels: meta.Labels,
		annotation: func(name string) string { value, _ := meta.Annotation(name); return string(value) },
	}, err
}

func (protobufEncoding) status(object []byte) (s metav1.Status, err error) {
	return s, s.Unmarshal(object)
}

func (protobufEncoding) events(body io.Reader, buffer int) eventReader {
	return &protobufEvents{in: bufio.NewReaderSize(body, buffer)}
}

// protobufEvents reads the frames of a watch in Protobuf, each with its length before it.
type protobufEvents struct {
	in    *bufio.Reader
	frame []byte // reused
}

func (p *protobufEvents) next() (string, []byte, error) {
	frame, err := p.read()
	if err != nil {
		return "", nil, err
	}
	eventType, object, err := proto.ParseEvent(frame)
	if err != nil {
		return "", nil, malformed(err)
	}
	u, err := proto.ParseEnvelope(object)
	return string(eventType), u.Raw, malformed(err)
}

func (p *protobufEvents) read() ([]byte, error) {
	if cap(p.frame) > keptBuffer {
		p.frame = nil
	}
	var head [4]byte
	if _, err := io.ReadFull(p.in, head[:]); err != nil {
		return nil, err
	}
	size := binary.BigEndian.Uint32(head[:])
	if size > frameLimit {
		return nil, malformed(fmt.Errorf("%d bytes, more than %d", size, frameLimit))
	}
	if cap(p.frame) < int(size) {
		p.frame = make([]byte, size)
	}
	frame := p.frame[:size]
	if _, err := io.ReadFull(p.in, frame); err != nil {
		return nil, fmt.Errorf("event is cut short: %w", io.ErrUnexpectedEOF)
	}
	return frame, nil
}
