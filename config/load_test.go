package config

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

// problemsIn returns the lines of the error about a text.
func problemsIn(text string) []string {
	err := Parse("f.yaml", []byte(text)).Check()
	if err == nil {
		return nil
	}
	return strings.Split(err.Error(), "\n")
}

const head = "apiVersion: sluice/v1alpha1\nkind: Configuration\n"

// One wrong field must not hide another, be it of another kind.
func TestEveryProblemIsReportedWithItsPlace(t *testing.T) {
	text := head + `listne: x
listen: 8443
admin:
  profiling: "yes"
  hosts: localhost
limits:
  seats: many
  upstreamStreams: -1
  headerBytes: 99999999999999999999
  queueWait: soon
  idleTimeout: 5
listen: a:1
tls:
  certFile: x
  sni: [{certFile: x}, 7]
cache:
  proofs: 5
  proof: {}
  encodedBytes: 1.5
  exclude: [Pods]
log: {level: loud}
shutdown:
  grace: -1s
`
	want := []string{
		`f.yaml:3:1: listne: is not a field; did you mean listen?`,
		`f.yaml:4:9: listen: must be a string, is "8443"`,
		`f.yaml:6:14: admin.profiling: must be true or false, is the string "yes"`,
		`f.yaml:7:10: admin.hosts: must be a list, is "localhost"`,
		`f.yaml:9:10: limits.seats: must be a whole number, is "many"`,
		`f.yaml:10:3: limits.upstreamStreams: is no longer a field; what passes and lasts counts by its memory, which bounds the descriptors, too: remove it, or set limits.memory`,
		`f.yaml:11:16: limits.headerBytes: must be a number of bytes, such as 512Mi, is "99999999999999999999"`,
		`f.yaml:12:3: limits.queueWait: is no longer a field; a request waits 10 s for its place: remove it`,
		`f.yaml:13:16: limits.idleTimeout: must be a duration, such as 10s or 5m, is "5"`,
		`f.yaml:14:1: listen: is set twice, first in line 4`,
		`f.yaml:17:9: tls.sni[0]: needs certFile and keyFile`,
		`f.yaml:17:24: tls.sni[1]: must be an object, is "7"`,
		`f.yaml:19:11: cache.proofs: must be an object, is "5"`,
		`f.yaml:20:3: cache.proof: is not a field; did you mean proofs?`,
		`f.yaml:21:17: cache.encodedBytes: must be a number of bytes, such as 512Mi, is "1.5"`,
		`f.yaml:22:13: cache.exclude[0]: "Pods" is not a resource, such as "pods" or "leases.coordination.k8s.io"`,
		`f.yaml:23:14: log.level: "loud" is not one of debug, info, warn, error`,
		`f.yaml:25:10: shutdown.grace: must not be negative`,
	}
	if diff := cmp.Diff(want, problemsIn(text)); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
}

func TestProblemsOfWholeFiles(t *testing.T) {
	for _, tt := range []struct{ name, text, want string }{
		{"empty", "", `f.yaml: apiVersion: must be sluice/v1alpha1, not ""`},
		{"null", "null", `f.yaml:1:1: must be an object, is "null"`},
		{"list", "- a", "f.yaml:1:1: must be an object, is a list"},
		{"another kind", "apiVersion: v1\nkind: Pod\n", `f.yaml:2:7: kind: must be Configuration, not "Pod"`},
		{"two documents", head + "---\na: b\n", "f.yaml:3:1: the file must hold one document"},
		{"no YAML", head + "listen: [\n", "f.yaml:"},
		{"no duration", head + "shutdown: {grace: soon}\n", `f.yaml:3:19: shutdown.grace: "soon" is not a duration, such as 10s or 5m`},
		{"tabs", head + "log:\n\tlevel: info\n", "f.yaml:"},
		{"gone", head + "proxy: {tunnel: [a:1]}\n", "f.yaml:3:9: proxy.tunnel: is no longer a field; the proxy leads to the API only"},
		{"merge key", head + "log: {<<: {level: info}}\n", "f.yaml:3:7: log.<<: is not a field"},
		{"certificate without key", head + "tls:\n  certFile: x\n", "f.yaml:4:3: tls: certFile and keyFile must be set together"},
	} {
		if got := strings.Join(problemsIn(tt.text), "\n"); !strings.Contains(got, tt.want) {
			t.Errorf("%s: got\n%s\nwant %s", tt.name, got, tt.want)
		}
	}
}

func TestValuesDecodeFromAllFormsOfYAML(t *testing.T) {
	for _, text := range []string{
		head + "log: {level: warn}\ncache: {encodedBytes: 0, proofs: {corePercent: 7}, exclude: []}\n",
		`{"apiVersion": "sluice/v1alpha1", "kind": "Configuration", "log": {"level": "warn"}, "cache": {"encodedBytes": 0, "proofs": {"corePercent": 7.0}, "exclude": []}}`,
		head + "log: &a {level: warn}\ncache: {encodedBytes: 0x0, proofs: {corePercent: 7.0, bytesPerSecond: null}, exclude: [], idle: ~}\nupstream:\n",
	} {
		c := Parse("f.yaml", []byte(text))
		if err := c.Check(); err != nil {
			t.Errorf("%s\n%v", text, err)
		}
		f := c.File
		if f.Log.Level != "warn" || *f.Cache.EncodedBytes != 0 || f.Cache.Proofs.CorePercent != 7 || f.Cache.Exclude == nil || len(f.Cache.Exclude) > 0 {
			t.Errorf("%s\n%+v", text, f)
		}
	}
}

// What is wrong with a value that a flag sets has no place in the file.
func TestProblemsOfOverriddenFields(t *testing.T) {
	c := Empty()
	c.File.Log.Level = "loud"
	if err := c.Check(); err == nil || !strings.HasPrefix(err.Error(), `log.level: "loud" is not one of`) {
		t.Error(err)
	}
}

func FuzzParse(f *testing.F) {
	f.Add([]byte(head + "listen: &a [*a]\ncache: *a\n"))
	f.Add([]byte("a: &a\n  b: *a\n? [x]\n: y\n"))
	f.Fuzz(func(t *testing.T, text []byte) {
		if err := Parse("f.yaml", text).Check(); err != nil && strings.Contains(err.Error(), "config.") {
			t.Error(err)
		}
	})
}
