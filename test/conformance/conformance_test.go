package conformance

import (
	"context"
	"fmt"
	"io"
	"net/http"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"sluice/test/harness"
)

// TestReads sends the rows first: writes would come between the two answers.
func TestReads(t *testing.T) {
	t.Parallel()
	t.Run("answers", testAnswers)
	t.Run("writes", func(t *testing.T) {
		t.Run("events", testEvents)
		t.Run("definitions", testDefinitions)
	})
}

func testAnswers(t *testing.T) {
	rows, err := Load("testdata/rows")
	if err != nil {
		t.Fatal(err)
	}
	for _, row := range rows {
		t.Run(row.Name, func(t *testing.T) {
			t.Parallel()
			for _, one := range row.continued(t) {
				one.replace(words).check(t, plane, sluice)
			}
		})
	}
}

// continued returns the row, or if it is about the rest of a list, one for each
// server with the token that this gave.
func (r Row) continued(t *testing.T) []Row {
	t.Helper()
	if r.After == "" {
		return []Row{r}
	}
	var rows []Row
	for _, s := range []server{plane, sluice} {
		var l list
		if err := fetch(t.Context(), s, words.Replace(r.After), &l); err != nil {
			t.Fatal(err)
		}
		if l.Metadata.Continue == "" {
			t.Fatalf("%s is not continued at %T", r.After, s)
		}
		rows = append(rows, r.replace(strings.NewReplacer("{continue}", l.Metadata.Continue)))
	}
	return rows
}

// check sends the row to an apiserver and to its Sluice and compares the
// answers.
func (r Row) check(t *testing.T, plane, sluice server) {
	t.Helper()
	want, err := r.upstream().ask(t.Context(), plane)
	if err != nil {
		t.Fatalf("apiserver: %v", err)
	}
	got, err := r.ask(t.Context(), sluice)
	if err != nil {
		t.Fatalf("Sluice: %v", err)
	}
	if text := r.unexpected(want); text != "" {
		t.Error(text)
	}
	if r.Instead != "" && isCBOR(got.Header) && !isCBOR(want.Header) {
		if err := recode(want); err != nil {
			t.Fatal(err)
		}
		got.Header.Del("Content-Length") // that of the other encoding says nothing
	}
	switch difference := r.difference(want, got); {
	case r.Known == "" && difference != "":
		t.Error(difference)
	case r.Known != "" && difference == "":
		t.Errorf("there is no difference any more, though: %s", r.Known)
	}
}

// unexpected says what the row does not expect of the apiserver's answer.
func (r Row) unexpected(want *harness.Response) string {
	if want.Status != r.Status {
		return fmt.Sprintf("the apiserver answers %d, the row expects %d: %.300s", want.Status, r.Status, want.Body)
	}
	for _, text := range r.Shows {
		if !strings.Contains(string(want.Body), text) {
			return fmt.Sprintf("the apiserver's body lacks %q: %.2000s", text, want.Body)
		}
	}
	return ""
}

func (r Row) difference(want, got *harness.Response) string {
	source, why, _ := strings.Cut(got.Header.Get("Sluice-Source"), ";")
	if got.Status == http.StatusSwitchingProtocols {
		source = "upstream" // its headers are only those of the protocol
	}
	if source != r.Source && r.Source != "either" {
		return fmt.Sprintf("answered from %q, want %s;%s", source, r.Source, why)
	}
	w, g := reduceBoth(&r, want, got)
	if diff := cmp.Diff(w, g); diff != "" {
		return "apiserver (-) and Sluice (+) differ:\n" + diff
	}
	return ""
}

func (r Row) ask(ctx context.Context, s server) (*harness.Response, error) {
	raw := s.Raw(r.user())
	if r.Until == "" {
		return raw.Do(ctx, r.request())
	}
	resp, err := raw.Open(ctx, r.request())
	if err != nil {
		return nil, err
	}
	defer resp.Body.Close()
	a := &harness.Response{Status: resp.StatusCode, Proto: resp.Proto, Header: resp.Header}
	if resp.StatusCode != http.StatusOK {
		a.Body, err = io.ReadAll(resp.Body)
	} else {
		a.Body, err = newStream(resp).until(r.Until)
	}
	return a, err
}
