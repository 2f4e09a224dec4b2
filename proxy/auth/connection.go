package auth

import (
	"context"
	"crypto/x509"
	"errors"
	"net"
	"sync"
	"time"
)

const (
	// maxCertificates bounds the certificates that a client presents: each order of intermediates with the same name and key
	// may be a chain, whose signatures are verified.
	maxCertificates = 4
	// rejectedFor bounds how long the failure of a verification is kept.
	rejectedFor = time.Minute
)

// connection keeps the user of the client certificates of one connection, so that they are verified
// once and not for every request.
type connection struct {
	mu                   sync.Mutex // guards the fields below
	clientCA, frontProxy verification
}

// verification is the result of verifying the client certificates against one CA.
type verification struct {
	roots  *x509.CertPool // of the CA; another CA invalidates the result
	until  time.Time
	chains [][]*x509.Certificate
	err    error
}

type connectionKey struct{}

// ConnContext returns a context for the requests of a new connection. It fits http.Server.ConnContext.
// Without it, certificates are verified for every request.
func ConnContext(ctx context.Context, _ net.Conn) context.Context {
	return context.WithValue(ctx, connectionKey{}, &connection{})
}

func connectionFrom(ctx context.Context) *connection {
	if c, ok := ctx.Value(connectionKey{}).(*connection); ok {
		return c
	}
	return &connection{}
}

var errTooManyCertificates = errors.New("too many client certificates")

// verify returns the chains of the client certificates to a CA. v is the verification by this CA.
func (c *connection) verify(
	v *verification, presented []*x509.Certificate, ca *x509.CertPool,
) ([][]*x509.Certificate, error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	now := time.Now()
	if v.roots == ca && now.Before(v.until) {
		return v.chains, v.err
	}
	*v = verification{roots: ca, until: now.Add(rejectedFor)}
	if v.chains, v.err = verifyChain(presented, ca); v.err == nil {
		v.until = earliestExpiry(v.chains)
	}
	return v.chains, v.err
}

func verifyChain(presented []*x509.Certificate, ca *x509.CertPool) ([][]*x509.Certificate, error) {
	if len(presented) > maxCertificates {
		return nil, errTooManyCertificates
	}
	options := x509.VerifyOptions{
		Roots: ca, Intermediates: x509.NewCertPool(), KeyUsages: []x509.ExtKeyUsage{x509.ExtKeyUsageClientAuth},
	}
	for _, intermediate := range presented[1:] {
		options.Intermediates.AddCert(intermediate)
	}
	return presented[0].Verify(options)
}

// earliestExpiry returns when the first certificate of the chains expires.
func earliestExpiry(chains [][]*x509.Certificate) time.Time {
	first := chains[0][0].NotAfter
	for _, chain := range chains {
		for _, certificate := range chain {
			if certificate.NotAfter.Before(first) {
				first = certificate.NotAfter
			}
		}
	}
	return first
}
