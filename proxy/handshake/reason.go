package handshake

import (
	"context"
	"crypto/tls"
	"errors"
	"io"
	"net"
	"os"
	"syscall"
)

// The reasons of failures.
const (
	closed    = "closed"     // the client has closed the connection
	timeout   = "timeout"    // the client was not done in time
	plaintext = "not-tls"    // the client does not speak TLS
	rejected  = "rejected"   // the client does not accept the certificate, or something else
	mismatch  = "mismatched" // there is no version or algorithm in common, or the client breaks the protocol
)

// reasonOf returns why a handshake has failed.
func reasonOf(err error) string {
	alert, isOp := errors.AsType[*net.OpError](err)
	_, isHeader := errors.AsType[tls.RecordHeaderError](err)
	switch {
	case errors.Is(err, os.ErrDeadlineExceeded), errors.Is(err, context.DeadlineExceeded):
		return timeout
	case isHeader:
		return plaintext
	case isOp && alert.Op == "remote error":
		return rejected
	case errors.Is(err, io.EOF), errors.Is(err, io.ErrUnexpectedEOF), errors.Is(err, io.ErrClosedPipe),
		errors.Is(err, net.ErrClosed), errors.Is(err, syscall.ECONNRESET), errors.Is(err, syscall.EPIPE):
		return closed
	}
	return mismatch
}
