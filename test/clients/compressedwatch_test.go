package clients

import (
	"bufio"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"

	"sluice/codec/json"
	"sluice/test/harness"
)

// compressing compresses the watches of all clients that accept it.
const compressing = `
apiVersion: sluice/v1alpha1
kind: Configuration
compression: {watches: true}
`

// watchProgram is a program that prints the content encoding of a watch and then its events, in lines.
type watchProgram struct {
	name   string
	needs  []string // a command that succeeds where the program is available
	args   func(url, token, ca string) []string
	coding []string // that the program may get
}

var curlVersion, nodeVersion = []string{"curl", "--version"}, []string{"node", "--version"}

func imports(python, module string) []string { return []string{python, "-c", "import " + module} }

var watchPrograms = []watchProgram{
	{"curl", curlVersion, curlWatch(), []string{"identity"}},
	{"curl, compressed", curlVersion, curlWatch("--compressed"), []string{"gzip", "zstd"}},
	{"curl, gzip", curlVersion, curlWatch("--compressed", "-H", "Accept-Encoding: gzip"), []string{"gzip"}},
	{"curl, gzip, HTTP/1.1", curlVersion, curlWatch("--compressed", "-H", "Accept-Encoding: gzip", "--http1.1"), []string{"gzip"}},
	{"fetch", nodeVersion, nodeWatch("fetch"), []string{"gzip"}},
	{"Node's https", nodeVersion, nodeWatch("https"), []string{"identity"}},
	{"Node's https, gzip", nodeVersion, nodeWatch("https", "gzip"), []string{"gzip"}},
	{"urllib3", imports("python3", "urllib3"), pythonWatch("python3", "urllib3"), []string{"identity"}},
	{"urllib3, gzip", imports("python3", "urllib3"), pythonWatch("python3", "urllib3", "gzip"), []string{"gzip"}},
	{"urllib3 of Debian, gzip", imports("/usr/bin/python3", "urllib3"), pythonWatch("/usr/bin/python3", "urllib3", "gzip"), []string{"gzip"}},
	{"requests", imports("python3", "requests"), pythonWatch("python3", "requests"), []string{"gzip", "zstd"}},
}

// curlWatch returns the arguments of a curl that prints the headers first.
func curlWatch(more ...string) func(url, token, ca string) []string {
	return func(url, token, ca string) []string {
		return append([]string{"curl", "-sSNi", "--cacert", ca, "-H", "Authorization: Bearer " + token, url}, more...)
	}
}

func nodeWatch(by string, more ...string) func(url, token, ca string) []string {
	return func(url, token, ca string) []string {
		return append([]string{"node", filepath.Join("node", "watch.js"), by, url, token, ca}, more...)
	}
}

func pythonWatch(python, by string, more ...string) func(url, token, ca string) []string {
	return func(url, token, ca string) []string {
		return append([]string{python, filepath.Join("python", "watch.py"), by, url, token, ca}, more...)
	}
}

// Each client gets each event of a compressed watch before the next one happens, and the same bytes as a plain
// watch.
func TestCompressedWatchDeliversEachEvent(t *testing.T) {
	s := apiserver.StartSluice(t, harness.SluiceOptions{Config: compressing})
	configMaps.sync(t, s)
	for _, p := range watchPrograms {
		t.Run(p.name, func(t *testing.T) {
			if exec.CommandContext(t.Context(), p.needs[0], p.needs[1:]...).Run() != nil {
				t.Skip(strings.Join(p.needs, " ") + " fails")
			}
			namespace := apiserver.Namespace(t)
			path := configMaps.Path(namespace) + "?watch=1&timeoutSeconds=1200&resourceVersion=" + newest(t, s.Raw("admin"), namespace)
			plain := readPlain(t, s, path)
			program := startWatch(t, s, p, path)
			w := configMaps.in(t, namespace)
			w.create("one")
			for _, n := range []string{"1", "2", "3"} {
				if want, got := plain(), program(); got != want {
					t.Fatalf("event %s:\n%q, want\n%q", n, got, want)
				}
				w.label("one", "n", n)
			}
		})
	}
	runClientCases(t, s, []clientCase{
		{"client-go JSON", typedAs(inJSON), []sample{configMaps}, []string{inJSON}},
		{"client-go Protobuf", typedAs(inProtobuf), []sample{configMaps}, []string{inProtobuf}},
	})
}

// newest returns the version of a list of the most recent state. If Sluice answers, it has proven it, so that it serves a watch
// from it.
func newest(t *testing.T, from *harness.RawClient, namespace string) string {
	t.Helper()
	list := from.MustGet(t, configMaps.Path(namespace), inJSON)
	version, _ := json.Value(list.Body).Get("metadata", "resourceVersion").Text()
	if list.Status != http.StatusOK || version == "" {
		t.Fatalf("a list without a version: %d %s", list.Status, list.Body)
	}
	return version
}

// readPlain opens a watch that is not compressed, and returns a function that returns its next line.
func readPlain(t *testing.T, s *harness.Sluice, path string) func() string {
	t.Helper()
	resp := s.Raw("admin").MustOpen(t, harness.Request{Path: path})
	if source := resp.Header.Get("Sluice-Source"); !strings.HasPrefix(source, "cache") {
		t.Fatalf("%s from %q", resp.Status, source)
	}
	return lines(t, bufio.NewReader(resp.Body))
}

func lines(t *testing.T, in *bufio.Reader) func() string {
	return func() string {
		t.Helper()
		line, err := in.ReadString('\n')
		if err != nil {
			t.Fatalf("%q, %v", line, err)
		}
		return strings.TrimRight(line, "\r\n")
	}
}

// startWatch starts a program and returns a function that returns the next event. The first call
// also checks the content encoding: curl prints no headers before there is something of the body.
func startWatch(t *testing.T, s *harness.Sluice, p watchProgram, path string) func() string {
	t.Helper()
	args := p.args(s.URL+path, apiserver.RESTConfig("admin").BearerToken, filepath.Join(s.Dir, "ca.crt"))
	cmd := exec.CommandContext(t.Context(), args[0], args[1:]...)
	cmd.Env = append(os.Environ(), "NODE_EXTRA_CA_CERTS="+filepath.Join(s.Dir, "ca.crt"))
	cmd.Stderr = os.Stderr
	next := lines(t, startCommand(t, cmd))
	check := sync.OnceFunc(func() {
		t.Helper()
		coding := next()
		if args[0] == "curl" {
			coding = "identity"
			for line := next(); line != ""; line = next() {
				if name, value, _ := strings.Cut(line, ": "); strings.EqualFold(name, "Content-Encoding") {
					coding = value
				}
			}
		}
		if !slices.Contains(p.coding, coding) {
			t.Errorf("the watch is in %s, want %q", coding, p.coding)
		}
	})
	return func() string {
		t.Helper()
		check()
		return next()
	}
}
