package limits

import (
	"context"
	"crypto/tls"
	"errors"
	"io"
	"net"
	"reflect"
	"slices"
)

const (
	// maxHandshake is how many bytes a client may have sent before it sends the last of its handshake.
	maxHandshake = 16 << 10
	// maxParts bounds the names and extensions of a client certificate, which takes memory as long as its connection.
	maxParts = 256
)

var (
	errLongHandshake    = errors.New("the handshake is too long")
	errLargeCertificate = errors.New("a client certificate has too many names or extensions")
)

// handshake makes the TLS handshake of a connection.
func (l *Listener) handshake(inner net.Conn) (*tls.Conn, error) {
	c := connOf(inner)
	c.shaking, c.received = true, 0
	encrypted := tls.Server(inner, l.options.TLS)
	ctx, cancel := context.WithTimeout(l.Context(), authenticateWithin)
	defer cancel()
	err := encrypted.HandshakeContext(ctx)
	c.shaking = false
	c.rest()
	answerPlaintext(err)
	return encrypted, err
}

// handshakeConfig returns a configuration that refuses large client certificates.
func handshakeConfig(of *tls.Config) *tls.Config {
	c := of.Clone()
	c.VerifyConnection = func(s tls.ConnectionState) error {
		for _, presented := range s.PeerCertificates {
			if partsOf(reflect.ValueOf(*presented)) > maxParts {
				return errLargeCertificate
			}
		}
		if of.VerifyConnection == nil {
			return nil
		}
		return of.VerifyConnection(s)
	}
	return c
}

// partsOf returns how many elements the lists of a value have, bytes aside, and those of the structs in it.
func partsOf(v reflect.Value) (n int) {
	for _, field := range v.Fields() {
		switch {
		case field.Kind() == reflect.Struct:
			n += partsOf(field)
		case field.Kind() == reflect.Slice && field.Type().Elem().Kind() != reflect.Uint8:
			n += field.Len()
		}
	}
	return n
}

// answerPlaintext tells a client that speaks HTTP without TLS its mistake, as net/http does.
func answerPlaintext(err error) {
	const answer = "HTTP/1.0 400 Bad Request\r\n\r\nClient sent an HTTP request to an HTTPS server.\n"
	begins := []string{"GET /", "HEAD ", "POST ", "PUT /", "OPTIO"}
	plain, ok := errors.AsType[tls.RecordHeaderError](err)
	if ok && plain.Conn != nil && slices.Contains(begins, string(plain.RecordHeader[:])) {
		_, _ = io.WriteString(plain.Conn, answer)
	}
}
