package config

import (
	"fmt"
	"net"
	"reflect"
	"slices"
	"strings"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// leastPassedBytes is the least budget that can be divided: among resources, and into what a read costs at least.
const leastPassedBytes = 1 << 20

// problems returns the problems of all invalid fields. The File must have its defaults.
func (f *File) problems() []Problem {
	var p problems
	p.enums(reflect.ValueOf(f).Elem(), "")
	p.address("listen", f.Listen)
	p.address("admin.listen", f.Admin.Listen)
	p.check(!f.Admin.Profiling || loopback(f.Admin.Listen), "admin.profiling", "needs a loopback address in admin.listen")
	p.pair("tls", f.TLS.CertFile, f.TLS.KeyFile)
	for i, pair := range f.TLS.SNI {
		p.check(pair.CertFile != "" && pair.KeyFile != "", fmt.Sprintf("tls.sni[%d]", i), "needs certFile and keyFile")
	}
	p.pair("upstream.frontProxy", f.Upstream.FrontProxy.CertFile, f.Upstream.FrontProxy.KeyFile)
	a := &f.Authentication
	p.positive("authentication.tokenTTL", a.TokenTTL)
	tokensOnly := *a.Tokens && !a.Anonymous && a.ClientCAFile == "" && a.FrontProxy.ClientCAFile == "" && len(a.TokenAudiences) == 0
	p.check(a.Callers != CallersSelf || tokensOnly, "authentication.callers", `with "self", callers have tokens for the apiserver and `+
		"nothing else: leave out clientCAFile, tokenAudiences, frontProxy.clientCAFile and anonymous, and tokens: false")
	p.check(a.ReviewsInFlight > 0, "authentication.reviewsInFlight", "must be positive")
	p.check(len(a.FrontProxy.UserHeaders) > 0, "authentication.frontProxy.userHeaders", "must not be empty")
	p.positive("authorization.allowTTL", f.Authorization.AllowTTL)
	p.positive("authorization.denyTTL", f.Authorization.DenyTTL)
	p.positive("authorization.watchRecheck", f.Authorization.WatchRecheck)
	p.positive("cache.historyAge", f.Cache.HistoryAge)
	p.check(f.Cache.HistoryBytes > 0, "cache.historyBytes", "must be positive")
	p.positive("cache.idle", f.Cache.Idle)
	p.positive("cache.checkEvery", f.Cache.CheckEvery)
	p.check(f.Cache.PassedBytes >= leastPassedBytes, "cache.passedBytes", fmt.Sprintf("must be at least %d", leastPassedBytes))
	p.check(f.Cache.Proofs.CorePercent > 0, "cache.proofs.corePercent", "must be positive")
	p.check(f.Cache.Proofs.BytesPerSecond > 0, "cache.proofs.bytesPerSecond", "must be positive")
	p.check(f.Cache.MaxBytes >= 0, "cache.maxBytes", "must not be negative")
	p.check(*f.Cache.EncodedBytes >= 0, "cache.encodedBytes", "must not be negative")
	for i, name := range f.Cache.Exclude {
		p.check(resourceName(name), fmt.Sprintf("cache.exclude[%d]", i), fmt.Sprintf("%q is not a resource, such as \"pods\" or \"leases.coordination.k8s.io\"", name))
	}
	f.Limits.validate(&p)
	f.Proxy.validate(&p)
	p.check(min(f.Audit.MaxSize, f.Audit.MaxBackups, f.Audit.MaxAge) > 0, "audit", "maxSize, maxBackups and maxAge must be positive")
	p.check(f.Shutdown.Delay.Duration >= 0, "shutdown.delay", "must not be negative")
	p.positive("shutdown.grace", f.Shutdown.Grace)
	return p
}

// problems collects the problems of values.
type problems []Problem

func (p *problems) check(ok bool, field, problem string) {
	if !ok {
		*p = append(*p, Problem{Field: field, Message: problem})
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

// enums checks the fields with the tag enum, which lists the values that they may have.
func (p *problems) enums(of reflect.Value, path string) {
	for i := range of.NumField() {
		field, value := of.Type().Field(i), of.Field(i)
		at := below(path, jsonName(field))
		if allowed, ok := field.Tag.Lookup("enum"); ok {
			list := strings.Split(allowed, ",")
			p.check(slices.Contains(list, value.String()), at, fmt.Sprintf("%q is not one of %s", value.String(), strings.Join(list, ", ")))
		}
		if field.Type.Kind() == reflect.Struct && field.Type != reflect.TypeFor[metav1.Duration]() {
			p.enums(value, at)
		}
	}
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
