package conformance

import (
	"bytes"
	"encoding/base64"
	"encoding/binary"
	"fmt"
	"net/http"
	"regexp"
	"strings"

	"google.golang.org/protobuf/encoding/protowire"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	metav1beta1 "k8s.io/apimachinery/pkg/apis/meta/v1beta1"

	"sluice/codec/proto"
	"sluice/test/harness"
)

// normalize replaces what may differ between two servers or moments: what Normalize does, and times, ages and generated names.
func normalize(body []byte, h http.Header, exact bool) []byte {
	body = Normalize(body, h, exact)
	if isFrames(h) || isCBOR(h) || strings.Contains(h.Get("Content-Type"), "protobuf") {
		return body
	}
	return normalizeMoments(body)
}

// Normalize replaces what may differ between two servers: resource versions of lists and bookmarks,
// which grow with every write in the cluster (unless exact), and bookmarks other than the end of
// initial events.
func Normalize(body []byte, h http.Header, exact bool) []byte {
	switch contentType := h.Get("Content-Type"); {
	case isFrames(h):
		return normalizeFrames(body)
	case isCBOR(h):
		text, err := normalizeCBOR(body, exact)
		if err != nil {
			return fmt.Appendf(nil, "%v: %x", err, body)
		}
		return text
	case strings.Contains(contentType, "protobuf"):
		return normalizeProto(body, exact)
	case bytes.HasPrefix(body, []byte(`{"type":"`)):
		return bookmark.ReplaceAllFunc(body, normalizeBookmark)
	case strings.Contains(contentType, "yaml"):
		return yamlMeta.ReplaceAllFunc(body, func(meta []byte) []byte { return normalizeListMeta(meta, exact) })
	}
	return listMeta.ReplaceAllFunc(body, func(meta []byte) []byte { return normalizeListMeta(meta, exact) })
}

// normalizeMoments replaces the texts of moments.
func normalizeMoments(text []byte) []byte {
	for _, r := range moments {
		if bytes.Contains(text, []byte(r.where)) {
			text = r.pattern.ReplaceAll(text, []byte(r.with))
		}
	}
	return text
}

var (
	// listMeta is the metadata of a list or Table in JSON, with kind and apiVersion before it.
	listMeta = regexp.MustCompile(`"kind":\s*"(\w*List|Table)",(\s*"apiVersion":\s*"[^"]+",)?\s*"metadata":\s*\{(?:[^{}]|\{[^{}]*\})*\}`)
	// yamlMeta is the same in YAML, where it follows the items.
	yamlMeta         = regexp.MustCompile(`(?m)^kind: (\w*List|Table)\nmetadata:\n(  \w+:( \S+)?\n|    selector: .*\n)+`)
	version          = regexp.MustCompile(`(["']?resourceVersion["']?:\s*)["']\d+["']`)
	continues        = regexp.MustCompile(`(["']?continue["']?:\s*["']?)([\w-]+)`)
	tokenRV          = regexp.MustCompile(`"rv":\d+`)
	bookmark         = regexp.MustCompile(`(?m)^\{"type":"BOOKMARK".*\n`)
	initialEventsEnd = []byte("k8s.io/initial-events-end")
)

// normalizeListMeta replaces the resource version of a list, also in its continue token.
func normalizeListMeta(meta []byte, exact bool) []byte {
	if exact {
		return meta
	}
	meta = version.ReplaceAll(meta, []byte(`$1"N"`))
	return continues.ReplaceAllFunc(meta, func(m []byte) []byte {
		parts := continues.FindSubmatch(m)
		return append(bytes.Clone(parts[1]), normalizeToken(parts[2])...)
	})
}

func normalizeToken(token []byte) []byte {
	plain, err := base64.RawURLEncoding.AppendDecode(nil, token)
	if err != nil {
		return token
	}
	if harness.Lacks("ListFromCacheSnapshot") {
		plain = bytes.Replace(plain, []byte(`"start":"/`), []byte(`"start":"`), 1) // etcd's keys; both servers read both
	}
	return tokenRV.ReplaceAll(plain, []byte(`"rv":N`))
}

// normalizeBookmark removes a bookmark unless it marks the end of initial events: servers send
// others at any time.
func normalizeBookmark(event []byte) []byte {
	if !bytes.Contains(event, initialEventsEnd) {
		return nil
	}
	return version.ReplaceAll(event, []byte(`$1"N"`))
}

// current matches the resource version of a server in its messages.
var current = regexp.MustCompile(`(current: )\d+`)

// moments are texts that depend on the time. A pattern is applied only to bodies that contain
// where, since patterns are slow on long bodies.
var moments = []struct {
	where   string
	pattern *regexp.Regexp
	with    string
}{
	{"current: ", current, `${1}N`},
	{"too old", regexp.MustCompile(`(too old resource version: \d+ \()\d+`), `${1}N`},
	{`"Table"`, regexp.MustCompile(`([",\[ ]")(?:\d+[ydhms])+"`), `${1}AGE"`}, // a cell of a Table
	{"kind: Table", regexp.MustCompile(`(?m)^(\s*- )(?:\d+[ydhms])+$`), `${1}AGE`},
}

// created are fields that the server sets when it creates an object.
var created = []struct {
	pattern *regexp.Regexp
	with    string
}{
	{regexp.MustCompile(`"(uid|creationTimestamp|time)":"[^"]*"`), `"$1":"T"`},
	{regexp.MustCompile(`"resourceVersion":"\d+","creationTimestamp":"T"`), `"resourceVersion":"N","creationTimestamp":"T"`},
}

// normalizeCreated replaces the fields that the server sets in the response to a write.
func normalizeCreated(body string) string {
	for _, r := range created {
		body = r.pattern.ReplaceAllString(body, r.with)
	}
	return body
}

// normalizeProto replaces the resource version of a Protobuf list.
func normalizeProto(body []byte, exact bool) []byte {
	u, err := proto.ParseEnvelope(body)
	if err != nil || exact {
		return body
	}
	switch {
	case string(u.APIVersion) == "meta.k8s.io/v1beta1":
		return normalizeV1beta1(body, u)
	case string(u.Kind) == "Status":
		return current.ReplaceAll(body, []byte(`${1}N`))
	case !bytes.HasSuffix(u.Kind, []byte("List")):
		return body
	}
	meta, err := proto.ParseListMeta(u.Raw)
	if err != nil {
		return body
	}
	normal := metav1.ListMeta{
		ResourceVersion: "N", Continue: string(normalizeToken([]byte(meta.Continue))),
		RemainingItemCount: meta.RemainingItemCount, ShardInfo: meta.ShardInfo,
	}
	head, err := normal.Marshal()
	if err != nil {
		return body
	}
	raw := protowire.AppendBytes(protowire.AppendTag(nil, 1, protowire.BytesType), head)
	for item, err := range proto.Items(u.Raw) {
		if err != nil {
			return body
		}
		raw = proto.AppendItem(raw, item)
	}
	return proto.AppendEnvelope(nil, string(u.APIVersion), string(u.Kind), raw)
}

// normalizeV1beta1 does the same for the one list type whose metadata comes last.
func normalizeV1beta1(body []byte, u proto.Unknown) []byte {
	var list metav1beta1.PartialObjectMetadataList
	if string(u.Kind) != "PartialObjectMetadataList" || list.Unmarshal(u.Raw) != nil {
		return body
	}
	list.ResourceVersion, list.Continue = "N", string(normalizeToken([]byte(list.Continue)))
	raw, err := list.Marshal()
	if err != nil {
		return body
	}
	return proto.AppendEnvelope(nil, string(u.APIVersion), string(u.Kind), raw)
}

// normalizeFrames does for a Protobuf watch what normalizeBookmark does for JSON.
func normalizeFrames(body []byte) []byte {
	var out []byte
	for len(body) >= 4 {
		size := 4 + int(binary.BigEndian.Uint32(body))
		if size > len(body) {
			break
		}
		frame := body[:size]
		body = body[size:]
		if typ, object, err := proto.ParseEvent(frame[4:]); err == nil && string(typ) == "BOOKMARK" {
			frame = nil
			if u, err := proto.ParseEnvelope(object); err == nil && bytes.Contains(object, initialEventsEnd) {
				frame, _ = proto.AppendWithResourceVersion([]byte("BOOKMARK "), u.Raw, "N")
			}
		}
		out = append(out, frame...)
	}
	return append(out, body...)
}
