package conformance

import (
	"bytes"
	"context"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"sluice/test/harness"
)

// TestResponsesEqualTheApiserver sends the rows before the writes of the other subtests, which
// would change the response between the two servers.
func TestResponsesEqualTheApiserver(t *testing.T) {
	t.Parallel()
	t.Run("confirmed states", testConfirmedStates)
	t.Run("rows", testRows)
	t.Run("writes", func(t *testing.T) {
		t.Run("scripts", testScripts)
		t.Run("CRD changes", testCRDChanges)
	})
}

func testRows(t *testing.T) { runRows(t, "testdata/rows/*.yaml", variables, apiserver, sluice) }

// runRows checks the rows of the files that match a pattern, except rows of confirmed states.
func runRows(t *testing.T, pattern string, variables *strings.Replacer, apiserver, sluice server) {
	t.Helper()
	rows, err := Load(pattern)
	if err != nil {
		t.Fatal(err)
	}
	for _, row := range rows {
		if row.Confirmed != "" || row.leftOut() {
			continue
		}
		t.Run(row.Name, func(t *testing.T) {
			t.Parallel()
			for _, one := range row.replace(variables).continued(t, apiserver, sluice) {
				one.check(t, apiserver, sluice)
			}
		})
	}
}

// continued returns the row, or if it continues a list, one row for each server with the continue
// token of that server.
func (r Row) continued(t *testing.T, servers ...server) (rows []Row) {
	t.Helper()
	if r.After == "" {
		return []Row{r}
	}
	for _, s := range servers {
		token := mustList(t, s, r.After).Metadata.Continue
		if token == "" {
			t.Fatalf("%s has no continue token at %T", r.After, s)
		}
		rows = append(rows, r.replace(strings.NewReplacer("{continue}", token)))
	}
	return rows
}

// checkTries bounds how often check sends a row.
const checkTries = 5

// check sends the row to an apiserver and to its Sluice and compares the responses. A watch that is
// cut by its own timeoutSeconds before all its events are there differs: it is sent again with more
// time. Any other row is sent again if the apiserver's own response has changed meanwhile.
func (r Row) check(t *testing.T, apiserver, sluice server) {
	t.Helper()
	wrong := ""
	for range checkTries {
		var want *harness.Response
		if want, wrong = r.exchange(t.Context(), apiserver, sluice); wrong == "" {
			return
		}
		if longer, ok := r.longer(); ok {
			r = longer
			continue
		}
		if want == nil || !r.changed(t.Context(), apiserver, want) {
			break
		}
	}
	t.Error(wrong)
}

// exchange sends the row to an apiserver and to its Sluice. It returns the apiserver's response,
// and what is wrong with the two.
func (r Row) exchange(ctx context.Context, apiserver, sluice server) (want *harness.Response, wrong string) {
	want, err := r.upstream().send(ctx, apiserver)
	if err != nil {
		return nil, fmt.Sprintf("apiserver: %v", err)
	}
	got, err := r.send(ctx, sluice)
	if err != nil {
		return want, fmt.Sprintf("Sluice: %v", err)
	}
	unexpected := r.unexpected(want)
	if r.Instead != "" && isCBOR(got.Header) && !isCBOR(want.Header) {
		if err := reencode(want); err != nil {
			return want, err.Error()
		}
		got.Header.Del("Content-Length") // reencode has removed the other
	}
	difference := r.difference(want, got)
	switch {
	case r.Known != "" && difference != "":
		difference = ""
	case r.Known != "":
		difference = "the known difference is gone: " + r.Known
	}
	return want, strings.TrimSpace(unexpected + "\n" + difference)
}

// shortWatch matches the parameter that ends a watch.
var shortWatch = regexp.MustCompile(`\btimeoutSeconds=(\d+)`)

// longer returns the row with five times as much time, unless its response is no watch, or a watch
// that has had enough.
func (r Row) longer() (Row, bool) {
	found := shortWatch.FindStringSubmatch(r.Path)
	if found == nil || r.Status != http.StatusOK && r.Status != http.StatusSwitchingProtocols {
		return r, false
	}
	seconds, err := strconv.Atoi(found[1])
	if err != nil || seconds < 1 || seconds > 20 {
		return r, false
	}
	r.Path = shortWatch.ReplaceAllString(r.Path, fmt.Sprintf("timeoutSeconds=%d", 5*seconds))
	return r, true
}

// changed reports whether the apiserver's response to a read is not what it was.
func (r Row) changed(ctx context.Context, apiserver server, was *harness.Response) bool {
	if r.Method != "" {
		return false
	}
	now, err := r.upstream().send(ctx, apiserver)
	if err != nil {
		return false
	}
	before, after := reduceBoth(&Row{Exact: r.Exact}, was, now)
	return before.Status != after.Status || before.Body != after.Body
}

// unexpected describes how the apiserver's response differs from what the row expects of it.
func (r Row) unexpected(want *harness.Response) string {
	if want.Status != r.Status {
		return fmt.Sprintf("apiserver: status is %d, the row expects %d: %.300s", want.Status, r.Status, want.Body)
	}
	if r.HTTP1 != strings.HasPrefix(want.Proto, "HTTP/1") {
		return "the response is in " + want.Proto
	}
	for _, text := range r.Shows {
		if !strings.Contains(string(want.Body), text) {
			return fmt.Sprintf("apiserver: no %q in the body: %.2000s", text, want.Body)
		}
	}
	return ""
}

// difference describes how Sluice's response differs from that of the apiserver.
func (r Row) difference(want, got *harness.Response) string {
	source, why, _ := strings.Cut(got.Header.Get("Sluice-Source"), ";")
	if got.Status == http.StatusSwitchingProtocols {
		source = "upstream" // the response has only the headers of the protocol
	}
	if source != r.Source && r.Source != "either" {
		return fmt.Sprintf("source is %q, want %s;%s", source, r.Source, why)
	}
	w, g := reduceBoth(&r, want, got)
	if diff := cmp.Diff(w, g); diff != "" {
		return "apiserver (-) and Sluice (+) differ:\n" + diff
	}
	return ""
}

// send sends the row to a server, again while the server is not ready for it.
func (r Row) send(ctx context.Context, s server) (a *harness.Response, err error) {
	_ = harness.Poll(ctx, func() error { // after its limit the response tells more than the error
		a, err = r.sendOnce(ctx, s)
		if err != nil && a != nil && bytes.Contains(a.Body, unproven) {
			return err
		}
		if err != nil || !r.unready(a) {
			return nil
		}
		return fmt.Errorf("status %d from %q", a.Status, a.Header.Get("Sluice-Source"))
	})
	return a, err
}

// unproven is in the ERROR event of a streaming list that Sluice on a loaded machine has not proven recent in time.
var unproven = []byte("could not be proven to be recent in time")

// unready reports whether a response to a read only shows that the machine is loaded: the apiserver has
// no capacity, or its aggregator has not heard from an extension server in time, or has not
// answered Sluice within the three seconds in which Sluice proves a state recent. Refusals of
// Sluice itself do not count.
func (r Row) unready(a *harness.Response) bool {
	source, reason, _ := strings.Cut(a.Header.Get("Sluice-Source"), "; ")
	if r.Method != "" || source != "" && source != "upstream" {
		return false
	}
	late := reason == "not-proven-in-time" && r.Source == "cache"
	busy := []int{http.StatusTooManyRequests, http.StatusServiceUnavailable, http.StatusGatewayTimeout}
	return late || a.Status != r.Status && slices.Contains(busy, a.Status)
}

// sendOnce sends the row to a server. Of a watch it reads the initial events, or the events up to Until.
func (r Row) sendOnce(ctx context.Context, s server) (*harness.Response, error) {
	raw := s.Raw(r.user())
	if r.Until == "" && !r.Initial {
		return raw.Do(ctx, r.request())
	}
	objects, err := r.initialEvents(ctx)
	if err != nil {
		return nil, err
	}
	resp, err := raw.Open(ctx, r.request())
	if err != nil {
		return nil, err
	}
	defer resp.Body.Close()
	a := &harness.Response{Status: resp.StatusCode, Proto: resp.Proto, Header: resp.Header}
	switch {
	case resp.StatusCode != http.StatusOK:
		a.Body, err = io.ReadAll(resp.Body)
	case r.Initial:
		var events [][]byte
		events, _, err = newStream(resp).events(objects)
		a.Body = bytes.Join(events, nil)
	default:
		a.Body, err = newStream(resp).until(r.Until)
	}
	return a, err
}

// initialEvents returns the number of initial events of a row that ends after them.
func (r Row) initialEvents(ctx context.Context) (n int, err error) {
	if !r.Initial {
		return 0, nil
	}
	in, query, _ := strings.Cut(r.Path, "?")
	q, err := url.ParseQuery(query)
	if err != nil {
		return 0, err
	}
	q.Del("watch")
	var l list
	err = fetch(ctx, apiserver, in+"?"+q.Encode(), &l)
	return len(l.Items), err
}
