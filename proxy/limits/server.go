package limits

import (
	"log"
	"net/http"
	"time"
)

// ServerOptions are the settings of a server that differ.
type ServerOptions struct {
	HeaderBytes, Streams           int
	ReadHeaderTimeout, IdleTimeout time.Duration
	Log                            *log.Logger
}

// NewServer returns a server that limits everything except the duration of a request: watches are long. The limit of header
// bytes also limits the expansion of an HTTP/2 header: a client can refer to a field of 4 KiB by one byte (HPACK, RFC 7541).
func NewServer(h http.Handler, o ServerOptions) *http.Server {
	return &http.Server{
		Handler:           served(h),
		ReadHeaderTimeout: o.ReadHeaderTimeout,
		IdleTimeout:       o.IdleTimeout,
		MaxHeaderBytes:    o.HeaderBytes,
		ErrorLog:          o.Log,
		ConnContext:       ConnContext,
		HTTP2: &http.HTTP2Config{
			MaxConcurrentStreams:          o.Streams,
			MaxReceiveBufferPerConnection: receiveBuffer, MaxReceiveBufferPerStream: receiveBuffer,
			MaxReadFrameSize: 16 << 10, // the server makes room for a whole frame as soon as it has its header
			// Without a table of response headers: it would be full of dates and audit IDs, which do not come again.
			MaxEncoderHeaderTableSize: 1, // byte; the least that is not the default
			SendPingTimeout:           30 * time.Second,
			PingTimeout:               15 * time.Second,
			WriteByteTimeout:          10 * time.Second,
		},
	}
}
