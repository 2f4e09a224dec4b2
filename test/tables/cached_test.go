package tables

import (
	"bytes"
	"encoding/json"
	"fmt"
	"io"
	"math"
	"net/http"
	"net/http/httptest"
	"net/http/httputil"
	"os"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"k8s.io/client-go/rest"

	sjson "sluice/codec/json"
	"sluice/test/consistency/wire"
	"sluice/test/harness"
)

// A relay stands between Sluice and the apiserver. It describes the columns of Tables in other words, but for those that
// a CRD describes.
type relay struct {
	server *httptest.Server
	words  atomic.Pointer[string] // before each description; nil adds none
	ahead  atomic.Int64           // by which its clock is ahead, in nanoseconds
}

// cachesAll caches also what is excluded by default.
const cachesAll = "apiVersion: sluice/v1alpha1\nkind: Configuration\ncache:\n  exclude: []\n  secrets: true\n"

// startSluice starts Sluice behind a relay.
func startSluice(t *testing.T) (*harness.Sluice, *relay) {
	t.Helper()
	r := &relay{}
	var through *rest.Config
	r.server, through = wire.Front(t, server.RESTConfig("sluice"), func(proxy *httputil.ReverseProxy) http.Handler {
		proxy.ModifyResponse = r.describe
		return proxy
	})
	return server.StartSluice(t, harness.SluiceOptions{Config: cachesAll, Flags: []string{"--log-level=warn"}, Upstream: through}), r
}

// describe changes the descriptions in a Table, and the Date.
func (r *relay) describe(resp *http.Response) error {
	date := time.Now().Add(time.Duration(r.ahead.Load()))
	resp.Header.Set("Date", date.UTC().Format(http.TimeFormat))
	if !strings.Contains(resp.Request.Header.Get("Accept"), "as=Table") || resp.Request.URL.Query().Has("watch") {
		return nil
	}
	body, err := io.ReadAll(resp.Body)
	if err != nil {
		return err
	}
	body = r.reworded(body)
	resp.Body, resp.ContentLength = io.NopCloser(bytes.NewReader(body)), int64(len(body))
	resp.Header.Set("Content-Length", strconv.Itoa(len(body)))
	return nil
}

// reworded returns a Table as Sluice receives it.
func (r *relay) reworded(table []byte) []byte {
	words := r.words.Load()
	if words == nil {
		return table
	}
	definitions := sjson.Value(table).Get("columnDefinitions")
	others := bytes.ReplaceAll(definitions, []byte(`"description":"`), []byte(`"description":"`+*words))
	others = bytes.ReplaceAll(others, []byte(*words+"how "), []byte("how ")) // of the column Size in testdata/custom.yaml
	return bytes.Replace(table, definitions, others, 1)
}

// reword changes the words of the apiserver, and cuts all connections to it.
func (r *relay) reword(words string) {
	r.words.Store(&words)
	r.server.CloseClientConnections()
}

// ages are the texts in cells that depend on the time of the request.
var ages = regexp.MustCompile(`\b(\d+[ydhms]){1,2}\b`)

// compareCached compares the Table of a resource from the cache with the apiserver's, byte by byte but for ages.
func compareCached(t *testing.T, s *harness.Sluice, r *relay, path, selection string) error {
	got, err := s.Raw("admin").Get(t.Context(), path+"?resourceVersion=0"+selection, asTable)
	if err != nil {
		return err
	}
	if source := got.Header.Get("Sluice-Source"); !strings.HasPrefix(source, "cache") {
		return fmt.Errorf("%s: %d from %q", path, got.Status, source)
	}
	version, _ := sjson.Value(got.Body).Get("metadata", "resourceVersion").Text()
	want, err := server.Raw("admin").Get(t.Context(), path+"?resourceVersionMatch=Exact&resourceVersion="+version+selection, asTable)
	if err != nil {
		return err
	}
	if diff := cmp.Diff(ageless(r.reworded(want.Body)), ageless(got.Body)); diff != "" {
		return fmt.Errorf("%s (-apiserver +sluice):\n%s", path, diff)
	}
	return nil
}

func ageless(table []byte) string { return ages.ReplaceAllString(string(table), "AGE") }

// The words of descriptions change with each release. Sluice prints those of the apiserver, also after it was upgraded.
func TestTablesFromTheCacheHaveTheDescriptionsOfTheApiserver(t *testing.T) {
	s, r := startSluice(t)
	var cached []harness.Resource
	for _, l := range builtin(t) {
		c, ok := knownColumns(t, l)
		if ok != (unprinted[l.String()] == "") && os.Getenv("CONTROLPLANE") == "" {
			t.Errorf("%s: the columns are known: %v", l, ok)
		}
		if ok && l.Can("watch") && !c.Sorted() {
			cached = append(cached, l)
		}
	}
	check := func(words string) {
		t.Run(words, func(t *testing.T) {
			for _, l := range cached {
				t.Run(l.String(), func(t *testing.T) {
					harness.Eventually(t, "the Table equals the apiserver's", func() error {
						return compareCached(t, s, r, l.Path(""), determined(l))
					})
				})
			}
			harness.Eventually(t, "the Table of a custom resource equals the apiserver's", func() error {
				return compareCached(t, s, r, widgets, "")
			})
		})
	}
	makeWidgets(t)
	check("as they are")
	r.reword("Reworded. ")
	check("reworded")
}

// The relay answers by another clock than that of Sluice's machine. Date is in whole seconds.
func TestAgesFromTheCacheAreByTheClockOfTheApiserver(t *testing.T) {
	s, r := startSluice(t)
	all := builtin(t)
	l := all[slices.IndexFunc(all, func(l harness.Resource) bool { return l.String() == "v1/configmaps" })]
	c := columnsOf(t, l)
	for _, ahead := range []time.Duration{90 * time.Second, -10 * time.Minute, 0} {
		r.ahead.Store(int64(ahead))
		harness.Eventually(t, fmt.Sprintf("ages are by a clock that is %v ahead", ahead), func() error {
			before := time.Now().Add(ahead - time.Second)
			got, err := s.Raw("admin").Get(t.Context(), l.Path("")+"?resourceVersion=0&includeObject=Object", asTable)
			if err != nil {
				return err
			}
			after := time.Now().Add(ahead + time.Second)
			if source := got.Header.Get("Sluice-Source"); !strings.HasPrefix(source, "cache") {
				return fmt.Errorf("%d from %q", got.Status, source)
			}
			var answer tableAnswer
			if err := json.Unmarshal(got.Body, &answer); err != nil {
				return err
			}
			if err := checkRows(c, answer.Rows, before, after); err != nil {
				return err
			}
			metrics, err := s.Metrics()
			if skew := metrics.Sum("sluice_upstream_clock_seconds"); err == nil && math.Abs(skew-ahead.Seconds()) > 1 {
				err = fmt.Errorf("the clock is %v s ahead", skew)
			}
			return err
		})
	}
}
