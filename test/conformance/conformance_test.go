package conformance

import (
	"context"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"slices"
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

func testRows(t *testing.T) {
	rows, err := Load("testdata/rows")
	if err != nil {
		t.Fatal(err)
	}
	for _, row := range rows {
		if row.Confirmed != "" || slices.ContainsFunc(row.features(), harness.Lacks) {
			continue
		}
		t.Run(row.Name, func(t *testing.T) {
			t.Parallel()
			for _, one := range row.continued(t) {
				one.replace(variables).check(t, apiserver, sluice)
			}
		})
	}
}

// continued returns the row, or if it continues a list, one row for each server with the continue
// token of that server.
func (r Row) continued(t *testing.T) []Row {
	t.Helper()
	if r.After == "" {
		return []Row{r}
	}
	var rows []Row
	for _, s := range []server{apiserver, sluice} {
		var l list
		if err := fetch(t.Context(), s, variables.Replace(r.After), &l); err != nil {
			t.Fatal(err)
		}
		if l.Metadata.Continue == "" {
			t.Fatalf("%s has no continue token at %T", r.After, s)
		}
		rows = append(rows, r.replace(strings.NewReplacer("{continue}", l.Metadata.Continue)))
	}
	return rows
}

// check sends the row to an apiserver and to its Sluice and compares the responses.
func (r Row) check(t *testing.T, apiserver, sluice server) {
	t.Helper()
	want, err := r.upstream().send(t.Context(), apiserver)
	if err != nil {
		t.Fatalf("apiserver: %v", err)
	}
	got, err := r.send(t.Context(), sluice)
	if err != nil {
		t.Fatalf("Sluice: %v", err)
	}
	if text := r.unexpected(want); text != "" {
		t.Error(text)
	}
	if r.Instead != "" && isCBOR(got.Header) && !isCBOR(want.Header) {
		if err := reencode(want); err != nil {
			t.Fatal(err)
		}
		got.Header.Del("Content-Length") // reencode has removed the other
	}
	switch difference := r.difference(want, got); {
	case r.Known == "" && difference != "":
		t.Error(difference)
	case r.Known != "" && difference == "":
		t.Errorf("the known difference is gone: %s", r.Known)
	}
}

// unexpected describes how the apiserver's response differs from what the row expects of it.
func (r Row) unexpected(want *harness.Response) string {
	if want.Status != r.Status {
		return fmt.Sprintf("apiserver: status is %d, the row expects %d: %.300s", want.Status, r.Status, want.Body)
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

// send sends the row to a server. Of a watch it reads the initial events, or the events up to Until.
func (r Row) send(ctx context.Context, s server) (*harness.Response, error) {
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
		a.Body, _, err = readEvents(newStream(resp), objects)
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
