package trace

import (
	"bytes"
	"context"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"os"
	"strings"
	"time"

	tracev1 "go.opentelemetry.io/proto/otlp/trace/v1"
	"google.golang.org/protobuf/proto"
)

// collector sends spans by OTLP over HTTP. The exporters of OpenTelemetry carry gRPC.
type collector struct {
	endpoint string
	header   http.Header
	client   http.Client
}

// newCollector returns a collector with the headers of OTEL_EXPORTER_OTLP_HEADERS.
func newCollector(endpoint string) (*collector, error) {
	const variable = "OTEL_EXPORTER_OTLP_HEADERS"
	c := &collector{endpoint: endpoint, header: http.Header{"Content-Type": {"application/x-protobuf"}}}
	c.client.Timeout = 10 * time.Second
	c.client.CheckRedirect = func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse } // with the headers
	for pair := range strings.SplitSeq(os.Getenv(variable), ",") {
		if pair = strings.TrimSpace(pair); pair == "" {
			continue
		}
		name, value, ok := strings.Cut(pair, "=")
		value, err := url.PathUnescape(strings.TrimSpace(value))
		if !ok || err != nil {
			return nil, fmt.Errorf("%s is no list of name=value", variable)
		}
		c.header.Set(strings.TrimSpace(name), value)
	}
	return c, nil
}

// Start implements otlptrace.Client.
func (c *collector) Start(context.Context) error { return nil }

// Stop implements otlptrace.Client.
func (c *collector) Stop(context.Context) error { return nil }

// UploadTraces implements otlptrace.Client.
func (c *collector) UploadTraces(ctx context.Context, spans []*tracev1.ResourceSpans) error {
	body, err := proto.Marshal(&tracev1.TracesData{ResourceSpans: spans}) // as an ExportTraceServiceRequest has them
	if err != nil {
		return err
	}
	r, err := http.NewRequestWithContext(ctx, http.MethodPost, c.endpoint, bytes.NewReader(body))
	if err != nil {
		return err
	}
	r.Header = c.header
	resp, err := c.client.Do(r)
	if err != nil {
		return err
	}
	defer resp.Body.Close()
	_, _ = io.CopyN(io.Discard, resp.Body, 64<<10) // so that the connection is used again
	if resp.StatusCode/100 != 2 {
		return fmt.Errorf("the collector answers %s", resp.Status)
	}
	return nil
}
