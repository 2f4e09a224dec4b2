package config

import (
	"fmt"
	"net"
	"net/url"
	"reflect"
	"slices"
	"strconv"
	"strings"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// problems returns the problems of all invalid fields. The File must have its defaults.
func (f *File) problems() []Problem {
	var p problems
	p.values(reflect.ValueOf(f).Elem(), "")
	p.address("listen", f.Listen)
	p.address("admin.listen", f.Admin.Listen)
	p.check(!f.Admin.Profiling || loopback(f.Admin.Listen), "admin.profiling", "needs a loopback address in admin.listen")
	p.pair("tls", f.TLS.CertFile, f.TLS.KeyFile)
	for i, pair := range f.TLS.SNI {
		p.check(pair.CertFile != "" && pair.KeyFile != "", fmt.Sprintf("tls.sni[%d]", i), "needs certFile and keyFile")
	}
	p.pair("upstream.frontProxy", f.Upstream.FrontProxy.CertFile, f.Upstream.FrontProxy.KeyFile)
	a := &f.Authentication
	tokensOnly := *a.Tokens && !a.Anonymous && a.ClientCAFile == "" && a.FrontProxy.ClientCAFile == "" && len(a.TokenAudiences) == 0
	p.check(a.Callers != CallersSelf || tokensOnly, "authentication.callers",
		`with "self", callers have tokens for the apiserver and `+
			"nothing else: leave out clientCAFile, tokenAudiences, frontProxy.clientCAFile and anonymous, and tokens: false")
	p.check(a.ClientCAFile == "" || a.ClientCAFile != a.FrontProxy.ClientCAFile || len(a.FrontProxy.Names) > 0, "authentication.frontProxy.names",
		"must name the front proxies, or give them a CA of their own: by the same clientCAFile every client could act as anybody")
	p.check(len(a.FrontProxy.UserHeaders) > 0, "authentication.frontProxy.userHeaders", "must not be empty")
	for name, headers := range map[string][]string{
		"userHeaders": a.FrontProxy.UserHeaders, "uidHeaders": a.FrontProxy.UIDHeaders,
		"groupHeaders": a.FrontProxy.GroupHeaders, "extraPrefixes": a.FrontProxy.ExtraPrefixes,
	} {
		blank := slices.ContainsFunc(headers, func(h string) bool { return strings.TrimSpace(h) == "" })
		p.check(!blank, "authentication.frontProxy."+name, "must not have an empty name")
	}
	for i, name := range f.Cache.Exclude {
		p.check(resourceName(name), fmt.Sprintf("cache.exclude[%d]", i),
			fmt.Sprintf("%q is not a resource, such as \"pods\" or \"leases.coordination.k8s.io\"", name))
	}
	for i, key := range f.Authorization.IgnoredExtra {
		rest := strings.TrimSuffix(key, "*")
		p.check(rest != "" && !strings.Contains(rest, "*"), fmt.Sprintf("authorization.ignoredExtra[%d]", i),
			fmt.Sprintf("%q is not a key, such as \"authentication.kubernetes.io/pod-uid\", or a prefix followed by *", key))
	}
	f.Authorization.AllowedNamespaces.validate(&p, "authorization.allowedNamespaces")
	p.check(f.Tracing.Endpoint == "" || httpURL(f.Tracing.Endpoint), "tracing.endpoint", "is not an http or https URL")
	u, err := url.Parse(f.Tracing.Endpoint)
	p.check(err != nil || u.User == nil && u.RawQuery == "", "tracing.endpoint",
		"must have no user, password or query, since /configz shows it: set the variable OTEL_EXPORTER_OTLP_HEADERS instead")
	p.check(f.Tracing.SamplingRatePerMillion <= 1e6, "tracing.samplingRatePerMillion", "must be at most 1000000")
	f.Proxy.validate(&p)
	for i := range f.Projections {
		f.Projections[i].validate(&p, fmt.Sprintf("projections[%d]", i))
	}
	return p
}

func (j *Projection) validate(p *problems, field string) {
	p.check(resourceName(j.Resource), field+".resource", fmt.Sprintf("%q is not a resource, such as \"pods\" or \"deployments.apps\"", j.Resource))
	p.check(len(j.Keep)+len(j.Drop) > 0, field, "needs keep or drop")
	_, err := j.Text()
	p.check(err == nil, field, fmt.Sprint(err))
	c := &j.Callers
	p.check(len(c.Users)+len(c.Groups)+len(c.UserAgents) > 0, field+".callers", "needs users, groups or userAgents")
	c.validate(p, field+".callers")
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

// values checks every value by its type and the tags of its field. No number and no duration is negative; a field
// with a default is not 0 here. Tag min is the least number that is not 0, and tag max the greatest; tag enum lists
// the values that a string may have.
func (p *problems) values(of reflect.Value, path string) {
	for i := range of.NumField() {
		field, value := of.Type().Field(i), reflect.Indirect(of.Field(i))
		at := below(path, jsonName(field))
		if isObject(field.Type) {
			p.values(value, at)
			continue
		}
		if allowed, ok := field.Tag.Lookup("enum"); ok {
			list := strings.Split(allowed, ",")
			p.check(slices.Contains(list, value.String()), at,
				fmt.Sprintf("%q is not one of %s", value.String(), strings.Join(list, ", ")))
		}
		if n, ok := number(value); ok {
			least, _ := strconv.ParseFloat(field.Tag.Get("min"), 64)
			most, err := strconv.ParseFloat(field.Tag.Get("max"), 64)
			p.check(n >= 0, at, "must not be negative")
			p.check(n <= 0 || n >= least, at, "must be at least "+field.Tag.Get("min"))
			p.check(n <= 0 || err != nil || n <= most, at, "must be at most "+field.Tag.Get("max"))
		}
	}
}

// number returns the value of a number or, in nanoseconds, of a duration.
func number(v reflect.Value) (n float64, ok bool) {
	switch x := v.Interface().(type) {
	case metav1.Duration:
		return float64(x.Duration), true
	case int:
		return float64(x), true
	case int64:
		return float64(x), true
	case float64:
		return x, true
	}
	return 0, false
}

// isObject reports whether values of a type are objects in the file.
func isObject(t reflect.Type) bool {
	return t.Kind() == reflect.Struct && t != reflect.TypeFor[metav1.Duration]()
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

func httpURL(s string) bool {
	u, err := url.Parse(s)
	return err == nil && (u.Scheme == "http" || u.Scheme == "https") && u.Host != ""
}
