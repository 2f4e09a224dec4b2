// Package fault tells apart why Sluice cannot use the apiserver.
package fault

import (
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"net"
	"net/http"
	"os"
	"syscall"
)

// Fault is why Sluice cannot use the apiserver, without names and addresses. The zero Fault is none.
type Fault struct {
	State string // one of States
	Says  string
	Do    string
}

// Grant is the remedy for a right that Sluice lacks.
const Grant = "Bind the ClusterRole of docs/operating.md#rights to Sluice's user."

// States are the states of faults.
var States = []string{"unauthorized", "forbidden", "untrusted", "scheme", "address", "away"}

// Status is the error of an apiserver that answers its check with another status than 200.
type Status int

// Error implements error.
func (s Status) Error() string {
	return fmt.Sprintf("apiserver responds to /version with status %d", int(s))
}

// Of returns the fault that a failed check shows. An apiserver that has answered before had the right address.
func Of(err error, answered bool) Fault {
	status, _ := errors.AsType[Status](err)
	_, plain := errors.AsType[tls.RecordHeaderError](err)
	_, untrusted := errors.AsType[*tls.CertificateVerificationError](err)
	_, unresolved := errors.AsType[*net.DNSError](err)
	refused := errors.Is(err, syscall.ECONNREFUSED)
	unreachable := errors.Is(err, syscall.EHOSTUNREACH) || errors.Is(err, syscall.ENETUNREACH)
	const repair = "Repair the apiserver or the way to it. Sluice resumes by itself."
	switch {
	case err == nil:
		return Fault{}
	case status == http.StatusUnauthorized:
		return Fault{"unauthorized", "The apiserver does not accept Sluice's own credentials (401)",
			"Renew the token or the certificate of the user in Sluice's kubeconfig."}
	case status == http.StatusForbidden:
		return Fault{"forbidden", "The apiserver forbids Sluice to get /version (403)", Grant}
	case status == http.StatusBadRequest:
		return Fault{"scheme", "The address of the apiserver has the scheme http, and a server with TLS answers", "Write https:// in the kubeconfig of Sluice."}
	case plain, errors.Is(err, http.ErrSchemeMismatch):
		return Fault{"scheme", "The address of the apiserver has the scheme https, and a server without TLS answers", "Write http:// in the kubeconfig of Sluice."}
	case untrusted:
		return Fault{"untrusted", "The certificate of the apiserver is not valid for Sluice (x509)",
			"Put the apiserver's CA into certificate-authority of Sluice's kubeconfig, and a name in its certificate into tls-server-name."}
	case !answered && (unresolved || refused || unreachable):
		return Fault{"address", "There is no apiserver at the address in Sluice's kubeconfig", "Correct the address in the kubeconfig, or start the apiserver there."}
	case status != 0:
		return Fault{"away", fmt.Sprintf("The apiserver answers /version with status %d", status), repair}
	case unresolved:
		return Fault{"away", "The name of the apiserver cannot be resolved", repair}
	case refused:
		return Fault{"away", "The apiserver accepts no connections", repair}
	case unreachable:
		return Fault{"away", "No network leads to the apiserver", repair}
	case os.IsTimeout(err), errors.Is(err, context.DeadlineExceeded):
		return Fault{"away", "The apiserver does not answer in time", repair}
	}
	return Fault{"away", "The connection to the apiserver fails", repair}
}
