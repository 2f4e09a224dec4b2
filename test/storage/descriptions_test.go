package storage

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
	"strconv"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/duration"
	"k8s.io/client-go/rest"

	sjson "sluice/codec/json"
	"sluice/codec/table"
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

// startBehindRelay starts Sluice behind a relay.
func startBehindRelay(t *testing.T) (*harness.Sluice, *relay) {
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

// compareCached compares a Table from the cache with the apiserver's, byte by byte but for ages.
func compareCached(t *testing.T, s *harness.Sluice, r *relay, path, selection string) error {
	got, err := s.Raw("admin").Get(t.Context(), path+"?resourceVersion=0"+selection, inJSON+asTable)
	if err != nil {
		return err
	}
	if source := got.Header.Get("Sluice-Source"); !strings.HasPrefix(source, "cache") {
		return fmt.Errorf("%s: %d from %q", path, got.Status, source)
	}
	version, _ := sjson.Value(got.Body).Get("metadata", "resourceVersion").Text()
	want, err := server.Raw("admin").Get(t.Context(), path+"?resourceVersionMatch=Exact&resourceVersion="+version+selection, inJSON+asTable)
	if err != nil {
		return err
	}
	if diff := cmp.Diff(ageless(r.reworded(want.Body)), ageless(got.Body)); diff != "" {
		return fmt.Errorf("%s (-apiserver +sluice):\n%s", path, diff)
	}
	return nil
}

func ageless(table []byte) string { return ages.ReplaceAllString(string(table), "AGE") }

// printed reports whether Sluice prints the Tables of a resource as of the apiserver's release.
func printed(t *testing.T, r resource) bool {
	t.Helper()
	info, err := server.Client("admin").Discovery().ServerVersion()
	if err != nil {
		t.Fatal(err)
	}
	release, err := strconv.Atoi(info.Minor)
	if err != nil {
		t.Fatal(err)
	}
	a := server.Raw("admin").MustGet(t, r.Path("")+"?resourceVersion=0&fieldSelector=metadata.name=-", inJSON+asTable)
	c, ok := table.Builtin(r.GV.Group, r.GV.Version, r.API.Kind, release, sjson.Value(a.Body).Get("columnDefinitions"))
	return ok && !c.Sorted()
}

// The words of descriptions change with each release. Sluice prints those of the apiserver, also after it was upgraded.
func TestTablesFromTheCacheHaveTheDescriptionsOfTheApiserver(t *testing.T) {
	all := resources(t)
	fill(t, all, writtenObjects)
	makeWidgets(t)
	s, r := startBehindRelay(t)
	cached := map[string]string{widgets: "", strings.Replace(widgets, "widgets", "namespaces/default/widgets/usual", 1): "", strings.Replace(widgets, "v1", "v1beta1", 1): ""} // by path, with a selection
	for _, l := range all {
		ok, why := printed(t, l), passed[l.String()]+notStored[l.String()]
		if ok != (why == "") && os.Getenv("CONTROLPLANE") == "" {
			t.Errorf("%s: Sluice prints its Tables: %v; passed because: %q", l, ok, why)
		}
		if ok {
			cached[l.Path("")] = determined(l)
		}
	}
	check := func(words string) {
		for path, selection := range cached {
			t.Run(words+path, func(t *testing.T) {
				harness.Eventually(t, "the Table equals the apiserver's", func() error { return compareCached(t, s, r, path, selection) })
			})
		}
	}
	check("as they are")
	r.reword("Reworded. ")
	check("reworded")
}

// determined returns the parameters by which a read of a resource leaves out the objects that do not determine their cells.
func determined(r resource) string {
	var others []string
	for _, name := range undetermined[r.String()] {
		others = append(others, "metadata.name!="+name)
	}
	return "&fieldSelector=" + strings.Join(others, ",")
}

// The relay answers by another clock than that of Sluice's machine. Date is in whole seconds.
func TestAgesFromTheCacheAreByTheClockOfTheApiserver(t *testing.T) {
	s, r := startBehindRelay(t)
	path := "/api/v1/namespaces/" + server.Namespace(t) + "/configmaps"
	server.MustCreate(t, path, `{"metadata":{"name":"aging"}}`)
	for _, ahead := range []time.Duration{90 * time.Second, -10 * time.Minute, 0} {
		r.ahead.Store(int64(ahead))
		harness.Eventually(t, fmt.Sprintf("ages are by a clock that is %v ahead", ahead), func() error {
			before := time.Now().Add(ahead - time.Second)
			got, err := s.Raw("admin").Get(t.Context(), path+"?resourceVersion=0", inJSON+asTable)
			if err != nil {
				return err
			}
			after := time.Now().Add(ahead + time.Second)
			var rows metav1.Table
			if err := json.Unmarshal(got.Body, &rows); err != nil {
				return err
			}
			if source := got.Header.Get("Sluice-Source"); !strings.HasPrefix(source, "cache") || len(rows.Rows) != 1 {
				return fmt.Errorf("%d rows from %q", len(rows.Rows), source)
			}
			if err := agedBetween(rows.Rows[0], before, after); err != nil {
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

// agedBetween returns an error unless the last cell of a row is the age of its object at a moment between two.
func agedBetween(row metav1.TableRow, before, after time.Time) error {
	var object metav1.PartialObjectMetadata
	if err := json.Unmarshal(row.Object.Raw, &object); err != nil {
		return err
	}
	age := row.Cells[len(row.Cells)-1]
	for at := before; at.Before(after); at = at.Add(100 * time.Millisecond) {
		if age == duration.HumanDuration(at.Sub(object.CreationTimestamp.Time)) {
			return nil
		}
	}
	return fmt.Errorf("created at %v, %v old between %v and %v", object.CreationTimestamp, age, before, after)
}
