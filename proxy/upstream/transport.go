package upstream

import (
	"fmt"
	"net/http"

	utilnet "k8s.io/apimachinery/pkg/util/net"
	"k8s.io/client-go/rest"
	"k8s.io/client-go/transport"
)

// streamBuffer bounds the unread bytes of one HTTP/2 response, in
// bytes; the default of net/http is 4 MiB. It allows 250 MB/s at a round trip of 1 ms.
const streamBuffer = 256 << 10

// transportOptions describes one transport.
type transportOptions struct {
	config   *rest.Config
	http1    bool   // HTTP/1.1 only
	once     bool   // a connection for each request
	agent    string // the User-Agent of requests; empty leaves theirs alone
	compress bool   // ask for gzip, and decompress; otherwise a response arrives as its request asked for it
}

// newTransport returns a transport with connections of its own.
func newTransport(o transportOptions) (http.RoundTripper, error) {
	c := rest.CopyConfig(o.config)
	c.DisableCompression = !o.compress
	c.UserAgent = o.agent
	if o.http1 {
		c.NextProtos = []string{"http/1.1"}
	}
	if c.Proxy == nil {
		// client-go shares one transport, and so its connections, among configurations with equal TLS
		// options, whatever their tokens. It does not if there is a Proxy function; this is the default.
		c.Proxy = http.ProxyFromEnvironment
	}
	var err error
	c.WrapTransport = transport.Wrappers(func(rt http.RoundTripper) http.RoundTripper {
		err = o.configure(rt)
		return rt
	}, c.WrapTransport)
	rt, tlsErr := rest.TransportFor(c)
	if tlsErr != nil {
		return nil, tlsErr
	}
	return rt, err
}

// configure configures the http.Transport that rt wraps.
func (o transportOptions) configure(rt http.RoundTripper) error {
	for {
		switch t := rt.(type) {
		case *http.Transport:
			t.HTTP2 = &http.HTTP2Config{MaxReceiveBufferPerStream: streamBuffer}
			t.DisableKeepAlives = o.once
			return nil
		case utilnet.RoundTripperWrapper:
			rt = t.WrappedRoundTripper()
		default:
			return fmt.Errorf("%T is not an http.Transport", rt)
		}
	}
}
