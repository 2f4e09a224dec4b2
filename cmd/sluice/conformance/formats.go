package conformance

import (
	"bytes"
	"compress/gzip"
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"strings"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
)

const (
	// compressedFrom is more than the bytes from which on the apiserver compresses.
	compressedFrom = 144 << 10
	// longAnswer is compressed however small the cluster is.
	longAnswer = "/openapi/v2"
)

var gzipMagic = []byte{0x1f, 0x8b}

// as returns the header of a client that wants a kind instead of the objects.
func as(kind string) http.Header {
	return http.Header{"Accept": {"application/json;as=" + kind + ";v=v1;g=meta.k8s.io,application/json"}}
}

func checkTable(ctx context.Context, p *probe) (string, error) { return p.kind(ctx, "Table") }

func checkMetadata(ctx context.Context, p *probe) (string, error) {
	return p.kind(ctx, "PartialObjectMetadataList")
}

func (p *probe) kind(ctx context.Context, want string) (string, error) {
	var got metav1.TypeMeta
	_, err := p.page(ctx, as(want), &got)
	if err == nil && got.Kind != want {
		err = fmt.Errorf("a %s: the Accept header was lost, or its parameters", got.Kind)
	}
	return "a " + want, err
}

// page reads a short list, in some format.
func (p *probe) page(ctx context.Context, header http.Header, into any) (*answer, error) {
	return p.read(ctx, p.on.path("limit", "10"), header, into)
}

func checkProtobuf(ctx context.Context, p *probe) (string, error) {
	if !p.on.builtIn() {
		return "", skipped("only built-in resources have Protobuf")
	}
	a, err := p.page(ctx, http.Header{"Accept": {runtime.ContentTypeProtobuf}}, nil)
	if err != nil {
		return "", err
	}
	if !bytes.HasPrefix(a.body, []byte("k8s\x00")) {
		return "", fmt.Errorf("%s: the Accept header was lost", a.Header.Get("Content-Type"))
	}
	return fmt.Sprintf("%d bytes", len(a.body)), nil
}

func checkGzip(ctx context.Context, p *probe) (string, error) {
	path := longAnswer
	if p.on.size >= compressedFrom {
		path = p.on.path("limit", pageLimit)
	}
	a, err := p.read(ctx, path, http.Header{"Accept-Encoding": {"gzip"}}, nil)
	if err != nil {
		return "", err
	}
	coding, compressed := a.Header.Get("Content-Encoding"), bytes.HasPrefix(a.body, gzipMagic)
	switch {
	case coding == "" && !compressed:
		return "", costly(fmt.Sprintf("%d bytes, not compressed", len(a.body)))
	case coding != "gzip" || !compressed:
		return "", fmt.Errorf("Content-Encoding is %q, and the body begins with %.2x", coding, a.body)
	}
	r, err := gzip.NewReader(bytes.NewReader(a.body))
	if err != nil {
		return "", err
	}
	plain, err := io.ReadAll(io.LimitReader(r, maxBody))
	switch {
	case err != nil:
		return "", err
	case bytes.HasPrefix(plain, gzipMagic):
		return "", errors.New("compressed twice")
	}
	return fmt.Sprintf("%d bytes for %d", len(a.body), len(plain)), nil
}

func checkCaching(ctx context.Context, p *probe) (string, error) {
	a, err := p.page(ctx, nil, nil)
	if err != nil {
		return "", err
	}
	control, age := a.Header.Get("Cache-Control"), a.Header.Get("Age")
	if age != "" || !strings.Contains(control, "no-cache") && !strings.Contains(control, "no-store") {
		return "", fmt.Errorf("Cache-Control is %q, Age %q", control, age)
	}
	return control, nil
}

func checkProtocol(ctx context.Context, p *probe) (string, error) {
	a, err := p.page(ctx, nil, nil)
	switch {
	case err != nil:
		return "", err
	case a.ProtoMajor < 2:
		return "", costly(a.Proto)
	}
	return a.Proto, nil
}
