package conformance

import (
	"encoding/json"
	"fmt"
	"net/url"
	"strings"
	"testing"

	"sluice/test/harness"
)

// raiseVersion raises the resource version of the apiserver by an object of a resource that no row reads.
var raiseVersion = Write{
	Path:   "/api/v1/namespaces/default/podtemplates",
	Object: json.RawMessage(`{"metadata":{"generateName":"raise-"},"template":{"spec":{"containers":[{"name":"c","image":"i"}]}}}`),
}

// testConfirmedStates sends the rows of confirmed states before all others: a get of the most
// recent state, which passes alone, would share the proofs of its lists.
func testConfirmedStates(t *testing.T) {
	rows, err := Load("testdata/rows/*.yaml")
	if err != nil {
		t.Fatal(err)
	}
	for _, row := range rows {
		if row.Confirmed == "" || row.leftOut() {
			continue
		}
		t.Run(row.Name, func(t *testing.T) {
			t.Parallel()
			row.replace(variables).checkConfirmed(t)
		})
	}
}

// checkConfirmed checks a row at versions that roll calls confirm.
func (r Row) checkConfirmed(t *testing.T) {
	t.Helper()
	var first list
	harness.Eventually(t, r.Confirmed+" by a roll call", func() error {
		if err := raiseVersion.send(t.Context(), apiserver); err != nil {
			return err
		}
		a, err := sluice.Raw(r.user()).Get(t.Context(), r.Confirmed, "application/json")
		if err != nil {
			return err
		}
		if source := a.Header.Get("Sluice-Source"); source != "cache; roll-call" {
			return fmt.Errorf("source is %q", source)
		}
		return json.Unmarshal(a.Body, &first)
	})
	if first.Metadata.Continue == "" {
		t.Fatalf("%s has no continue token", r.Confirmed)
	}
	version := first.Metadata.ResourceVersion
	r.at(version, first.Metadata.Continue).check(t, apiserver, sluice)
	r.at(version, r.tokenAt(t, version)).check(t, apiserver, sluice)

	var one Row
	harness.Eventually(t, r.Path+" from the cache at a version of the apiserver", func() error {
		if err := raiseVersion.send(t.Context(), apiserver); err != nil {
			return err
		}
		var now list
		if err := fetch(t.Context(), apiserver, r.Confirmed, &now); err != nil {
			return err
		}
		one = r.at(now.Metadata.ResourceVersion, now.Metadata.Continue)
		a, err := one.send(t.Context(), sluice)
		if err != nil {
			return err
		}
		if source := a.Header.Get("Sluice-Source"); !strings.HasPrefix(source, r.Source) {
			return fmt.Errorf("source is %q", source)
		}
		return nil
	})
	one.check(t, apiserver, sluice)
}

// at returns the row with a version and a continue token.
func (r Row) at(version, token string) Row {
	return r.replace(strings.NewReplacer("{version}", version, "{continue}", url.QueryEscape(token)))
}

// tokenAt returns the continue token that the apiserver makes of a version.
func (r Row) tokenAt(t *testing.T, version string) string {
	t.Helper()
	return mustList(t, apiserver, r.Confirmed+"&resourceVersionMatch=Exact&resourceVersion="+version).Metadata.Continue
}
