package main

import (
	"bufio"
	"bytes"
	"encoding/binary"
	"fmt"
	"io"
)

// format is a representation that a client requests.
type format struct {
	name   string
	accept string // of lists
	// watch is the Accept header of watches and frames splits their events; empty if no case watches in the format.
	watch  string
	frames bufio.SplitFunc
}

const (
	metadataItem = ";as=PartialObjectMetadata;g=meta.k8s.io;v=v1"
	metadataList = ";as=PartialObjectMetadataList;g=meta.k8s.io;v=v1"
	tableOf      = ";as=Table;g=meta.k8s.io;v=v1"

	jsonType     = "application/json"
	protobufType = "application/vnd.kubernetes.protobuf"
)

var formats = []format{
	{"json", jsonType, jsonType, splitLines},
	{"protobuf", protobufType, protobufType, splitFrames},
	{"cbor", "application/cbor", "", nil},
	{"table", jsonType + tableOf, jsonType + tableOf, splitLines},
	{"metadata", jsonType + metadataList, jsonType + metadataItem, splitLines},
	{"metadata-protobuf", protobufType + metadataList, protobufType + metadataItem, splitFrames},
	{"yaml", "application/yaml", "", nil},
}

// formatOf returns the format of a name, which must be valid.
func formatOf(name string) format {
	for _, f := range formats {
		if f.name == name {
			return f
		}
	}
	panic("bench: no format " + name)
}

// longestFrame bounds an event of a watch, in bytes.
const longestFrame = 64 << 20

// framesOf splits a watch stream into its events, without decoding them.
func framesOf(in io.Reader, split bufio.SplitFunc) *bufio.Scanner {
	s := bufio.NewScanner(in)
	s.Buffer(make([]byte, 16<<10), longestFrame)
	s.Split(split)
	return s
}

// endOf returns why a stream of frames has ended.
func endOf(frames *bufio.Scanner) error {
	if err := frames.Err(); err != nil {
		return err
	}
	return io.EOF
}

// splitLines splits JSON events, one per line.
func splitLines(data []byte, _ bool) (int, []byte, error) {
	n := bytes.IndexByte(data, '\n') + 1
	return splitAt(data, n)
}

// splitFrames splits events that follow their length in four bytes.
func splitFrames(data []byte, _ bool) (int, []byte, error) {
	if len(data) < 4 {
		return 0, nil, nil
	}
	return splitAt(data, 4+int(binary.BigEndian.Uint32(data)))
}

// splitAt returns the first n bytes as a frame, if there are as many.
func splitAt(data []byte, n int) (int, []byte, error) {
	if n == 0 || n > len(data) {
		return 0, nil, nil
	}
	return n, data[:n], nil
}

// initialEventsEnd is the annotation of the bookmark after the initial events (KEP-3157).
const initialEventsEnd = "k8s.io/initial-events-end"

// otherBookmarks bounds the other bookmarks that a server may send to a slow client.
const otherBookmarks = 10

// readInitialEvents reads a streaming list until the bookmark after the initial events. It returns
// an error if fewer than objects events precede the bookmark, or more than objects and updates.
func readInitialEvents(frames *bufio.Scanner, objects, updates int) error {
	for n := 0; frames.Scan(); n++ {
		if !bytes.Contains(frames.Bytes(), []byte(initialEventsEnd)) {
			continue
		}
		if n < objects || n > objects+updates+otherBookmarks {
			return fmt.Errorf("%d events instead of %d and a bookmark", n, objects)
		}
		return nil
	}
	return endOf(frames)
}
