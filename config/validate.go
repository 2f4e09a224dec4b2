package config

import (
	"errors"
	"fmt"
	"net"
	"slices"
	"strings"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// Validate returns the errors of all invalid fields, joined, each with the path of its field; nil if
// there are none. The File must have its defaults.
func (f *File) Validate() error {
	var p problems
	p.address("listen", f.Listen)
	p.address("admin.listen", f.Admin.Listen)
	p.check(!f.Admin.Profiling || loopback(f.Admin.Listen), "admin.profiling", "needs a loopback address in admin.listen")
	p.pair("tls", f.TLS.CertFile, f.TLS.KeyFile)
	for i, pair := range f.TLS.SNI {
		p.check(pair.CertFile != "" && pair.KeyFile != "", fmt.Sprintf("tls.sni[%d]", i), "needs certFile and keyFile")
	}
	p.pair("upstream.frontProxy", f.Upstream.FrontProxy.CertFile, f.Upstream.FrontProxy.KeyFile)
	l := f.Upstream.InFlight
	p.check(min(l.Anonymous, l.Reads, l.Writes, l.Leases, l.Streams) > 0, "upstream.inFlight", "must be positive")
	p.positive("authentication.tokenTTL", f.Authentication.TokenTTL)
	p.check(f.Authentication.RejectedTokens > 0, "authentication.rejectedTokens", "must be positive")
	p.check(f.Authentication.ReviewsInFlight > 0, "authentication.reviewsInFlight", "must be positive")
	p.check(len(f.Authentication.FrontProxy.UserHeaders) > 0, "authentication.frontProxy.userHeaders", "must not be empty")
	p.positive("authorization.allowTTL", f.Authorization.AllowTTL)
	p.positive("authorization.denyTTL", f.Authorization.DenyTTL)
	p.positive("authorization.watchRecheck", f.Authorization.WatchRecheck)
	p.positive("cache.historyAge", f.Cache.HistoryAge)
	p.check(f.Cache.HistoryBytes > 0, "cache.historyBytes", "must be positive")
	p.positive("cache.idle", f.Cache.Idle)
	p.positive("cache.checkEvery", f.Cache.CheckEvery)
	p.check(f.Cache.Proofs.CorePercent > 0, "cache.proofs.corePercent", "must be positive")
	p.check(f.Cache.Proofs.BytesPerSecond > 0, "cache.proofs.bytesPerSecond", "must be positive")
	p.check(f.Cache.MaxResources > 0, "cache.maxResources", "must be positive")
	p.check(f.Cache.MaxResourcesPerUser > 0, "cache.maxResourcesPerUser", "must be positive")
	p.check(f.Cache.MaxBytes >= 0, "cache.maxBytes", "must not be negative")
	p.check(*f.Cache.EncodedBytes >= 0, "cache.encodedBytes", "must not be negative")
	for i, name := range f.Cache.Exclude {
		p.check(resourceName(name), fmt.Sprintf("cache.exclude[%d]", i), fmt.Sprintf("%q is not a resource, such as \"pods\" or \"leases.coordination.k8s.io\"", name))
	}
	f.Limits.validate(&p)
	p.oneOf("compatibility", f.Compatibility, Extended, Strict)
	p.oneOf("log.level", f.Log.Level, "debug", "info", "warn", "error")
	p.oneOf("log.format", f.Log.Format, "json", "console")
	p.check(f.Shutdown.Delay.Duration >= 0, "shutdown.delay", "must not be negative")
	p.positive("shutdown.grace", f.Shutdown.Grace)
	return errors.Join(p...)
}

// problems collects validation errors.
type problems []error

func (p *problems) check(ok bool, field, problem string) {
	if !ok {
		*p = append(*p, fmt.Errorf("%s: %s", field, problem))
	}
}

func (p *problems) address(field, v string) {
	_, _, err := net.SplitHostPort(v)
	p.check(err == nil, field, fmt.Sprintf("%q is not host:port", v))
}

func (p *problems) pair(field, cert, key string) {
	p.check((cert == "") == (key == ""), field, "certFile and keyFile must be set together")
}

func (p *problems) positive(field string, d metav1.Duration) {
	p.check(d.Duration > 0, field, "must be positive")
}

func (p *problems) oneOf(field, v string, allowed ...string) {
	p.check(slices.Contains(allowed, v), field, fmt.Sprintf("%q is not one of %s", v, strings.Join(allowed, ", ")))
}

func resourceName(s string) bool {
	return s != "" && strings.ToLower(s) == s && !strings.ContainsAny(s, "/ \t")
}

// loopback reports whether an address, host:port, can be reached from the same host only.
func loopback(address string) bool {
	host, _, err := net.SplitHostPort(address)
	ip := net.ParseIP(host)
	return err == nil && (host == "localhost" || ip != nil && ip.IsLoopback())
}
