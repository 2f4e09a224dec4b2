package config

import (
	"reflect"
	"slices"
	"strings"
	"testing"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// TestBytesAreQuantities, as in the objects of Kubernetes.
func TestBytesAreQuantities(t *testing.T) {
	for text, want := range map[string]int64{
		"512Mi": 512 << 20, `"512Mi"`: 512 << 20, "1.5Gi": 3 << 29, "64k": 64000, "536870912": 512 << 20, "0.5": -1, "100m": -1, "512MB": -1, "[1]": -1,
	} {
		c := Parse("f.yaml", []byte("apiVersion: sluice/v1alpha1\nkind: Configuration\ncache: {maxBytes: "+text+"}\n"))
		switch err := c.Check(); {
		case want < 0 && (err == nil || !strings.Contains(err.Error(), "cache.maxBytes: must be a number of bytes, such as 512Mi")):
			t.Errorf("%s: %v", text, err)
		case want >= 0 && (err != nil || c.File.Cache.MaxBytes != want):
			t.Errorf("%s: %d, want %d: %v", text, c.File.Cache.MaxBytes, want, err)
		}
	}
}

func TestCheckReportsEveryInvalidField(t *testing.T) {
	c := Empty()
	f := c.File
	f.Default()
	f.Listen = "8443"
	f.TLS.CertFile = "x"
	f.TLS.SNI = []KeyPair{{CertFile: "x"}}
	f.Log.Level = "loud"
	f.Admin.Listen, f.Admin.Profiling = "0.0.0.0:9443", true
	f.Cache.Exclude = []string{"Pods"}
	f.Authorization.IgnoredExtra = []string{"a*b", "*", "a*"}
	f.Authentication.FrontProxy.GroupHeaders = []string{"X-Group", " "}
	f.Cache.HistoryAge.Duration = -1
	f.Cache.Proofs = Proofs{CorePercent: -1, BytesPerSecond: -1}
	f.Tracing.Endpoint = "https://user:secret@collector:4318" // which /configz would show
	f.Limits.Seats, f.Limits.Memory, f.Limits.HeaderBytes = -1, 1, 1<<30
	err := c.Check()
	if err == nil {
		t.Fatal("no error")
	}
	for _, field := range []string{"listen:", "tls:", "tls.sni[0]:", "log.level:", "cache.exclude[0]:", "authorization.ignoredExtra[0]:", "authorization.ignoredExtra[1]:", "authentication.frontProxy.groupHeaders:", "admin.profiling:", "limits.seats:", "limits.memory:", "limits.headerBytes:", "cache.historyAge:", "cache.proofs.corePercent:", "cache.proofs.bytesPerSecond:", "tracing.endpoint: must have no user, password or query"} {
		if !strings.Contains(err.Error(), field) || strings.Contains(err.Error(), "secret") {
			t.Errorf("no error about %q in:\n%v", field, err)
		}
	}
}

// TestNoNumberOrDurationIsNegative holds for fields to come, too.
func TestNoNumberOrDurationIsNegative(t *testing.T) {
	c := Empty()
	c.File.Default()
	var fields []string
	var negate func(object reflect.Value, path string)
	negate = func(object reflect.Value, path string) {
		for i := range object.NumField() {
			at, v := below(path, jsonName(object.Type().Field(i))), reflect.Indirect(object.Field(i))
			switch {
			case isObject(v.Type()):
				negate(v, at)
			case v.CanInt():
				v.SetInt(-1)
				fields = append(fields, at)
			case v.CanFloat():
				v.SetFloat(-0.5)
				fields = append(fields, at)
			case v.Type() == reflect.TypeFor[metav1.Duration]():
				v.Field(0).SetInt(-1)
				fields = append(fields, at)
			}
		}
	}
	negate(reflect.ValueOf(c.File).Elem(), "")
	err := c.Check()
	for _, field := range fields {
		if err == nil || !strings.Contains(err.Error(), field+": must not be negative") {
			t.Errorf("%s may be negative: %v", field, err)
		}
	}
	if len(fields) < 20 {
		t.Errorf("only %q", fields)
	}
}

func TestValuesThatAreNotValidNameTheirCorrection(t *testing.T) {
	// Otherwise every client with a certificate could claim any name.
	const unnamed = "f.yaml:3:47: authentication.frontProxy.names: must name"
	for _, tt := range []struct{ text, want string }{
		{"limits: {memory: 67108863}", "limits.memory: must be at least 67108864"}, {"limits: {memory: 67108864}", ""}, {"limits: {memory: 0}", ""},
		{"limits: {headerBytes: 4095}", "limits.headerBytes: must be at least 4096"}, {"limits: {headerBytes: 1048577}", "limits.headerBytes: must be at most 1048576"},
		{"limits: {headerBytes: 1048576}", ""},
		{"authentication: {clientCAFile: a, frontProxy: {clientCAFile: a}}", unnamed},
		{"authentication: {clientCAFile: a, frontProxy: {clientCAFile: a, names: [proxy]}}", ""},
		{"authentication: {clientCAFile: a, frontProxy: {clientCAFile: b}}", ""}, {"authentication: {frontProxy: {clientCAFile: a}}", ""},
		// The page /configz shows the endpoint.
		{"tracing: {endpoint: 'https://c:4318/v1/traces'}", ""}, {"tracing: {endpoint: 'https://user@c:4318'}", "must have no user"},
		{"tracing: {endpoint: 'https://c:4318/?api_key=secret'}", "must have no user, password or query"},
	} {
		err := Parse("f.yaml", []byte(head+tt.text)).Check()
		if (err == nil) != (tt.want == "") || err != nil && (!strings.Contains(err.Error(), tt.want) || strings.Contains(err.Error(), "secret")) {
			t.Errorf("%s: %v, want %q", tt.text, err, tt.want)
		}
	}
}

// An operator who excludes one more resource must not thereby cache secrets.
func TestSecretsAreCachedOnlyOnRequest(t *testing.T) {
	for _, tt := range []struct {
		name  string
		cache Cache
		want  bool
	}{
		{"defaults", Cache{}, false},
		{"another list", Cache{Exclude: []string{"leases.coordination.k8s.io"}}, false},
		{"empty list", Cache{Exclude: []string{}}, false},
		{"requested", Cache{Secrets: true}, true},
		{"requested and excluded", Cache{Secrets: true, Exclude: []string{"secrets"}}, false},
	} {
		f := &File{Cache: tt.cache}
		f.Default()
		if got := !slices.Contains(f.Cache.Excluded(), "secrets"); got != tt.want {
			t.Errorf("%s: secrets are cached: %v", tt.name, got)
		}
	}
}

// The admin listener serves plain HTTP on loopback only, and is open to everybody elsewhere only if asked for.
func TestAdminListenerIsPlainOnLoopbackOnly(t *testing.T) {
	for _, row := range []struct {
		listen, access, want string
		plain                bool
	}{
		{"127.0.0.1:9443", "", AccessOpen, true},
		{"[::1]:9443", "", AccessOpen, true},
		{"127.0.0.1:9443", AccessAuthorized, AccessAuthorized, false},
		{":9443", "", AccessAuthorized, false},
		{"0.0.0.0:9443", "", AccessAuthorized, false},
		{"10.1.2.3:9443", AccessOpen, AccessOpen, false},
		{"localhost.example:9443", "", AccessAuthorized, false},
	} {
		f := File{Admin: Admin{Listen: row.listen, Access: row.access}}
		f.Default()
		if f.Admin.Access != row.want || f.Admin.PlainHTTP() != row.plain {
			t.Errorf("%s %q: %q, plain %v", row.listen, row.access, f.Admin.Access, f.Admin.PlainHTTP())
		}
	}
}
