package certs

import "crypto/tls"

// Selector chooses among serving certificates by the server name that a client sends. Add all
// certificates before the first use.
type Selector struct{ reloaders []*Reloader }

// Add appends a certificate. The first one is the default.
func (s *Selector) Add(r *Reloader) { s.reloaders = append(s.reloaders, r) }

// GetCertificate returns the first certificate after the default that covers the server name, or the
// default. Use it as tls.Config.GetCertificate.
func (s *Selector) GetCertificate(hello *tls.ClientHelloInfo) (*tls.Certificate, error) {
	if hello.ServerName != "" {
		for _, r := range s.reloaders[1:] {
			if pair := r.pair.Load(); pair.Leaf.VerifyHostname(hello.ServerName) == nil {
				return pair, nil
			}
		}
	}
	return s.reloaders[0].pair.Load(), nil
}
