package conformance

import (
	"fmt"
	"io"
	"slices"
)

// Verdict is what is known of a law.
type Verdict string

// The verdicts.
const (
	OK      Verdict = "ok"
	Broken  Verdict = "broken"
	Differs Verdict = "differs" // it is kept, but the endpoints answer differently
	Costs   Verdict = "costs"   // clients work, at a higher cost
	Skipped Verdict = "skipped"
)

// Result is what came of a row.
type Result struct {
	Row      string  `json:"row"`
	Resource string  `json:"resource"`
	Verdict  Verdict `json:"verdict"`
	Law      string  `json:"law"`
	Came     string  `json:"came"`
	// Against is what came at the other endpoint, where it is not the same.
	Against []string `json:"against,omitempty"`
	// Breaks is what is broken, and for whom.
	Breaks string     `json:"breaks,omitempty"`
	Asked  []Exchange `json:"asked,omitempty"`

	once  bool // for one resource, but it holds for all
	needs []string
}

// compare adds how the answers of the other endpoint differ.
func (r *Result) compare(there Result) {
	if there.Verdict != r.Verdict {
		r.Against = append(r.Against, fmt.Sprintf("%s: %s", there.Verdict, there.Came))
	}
	for i, e := range r.Asked[:min(len(r.Asked), len(there.Asked))] {
		if other := there.Asked[i].Answer; other != e.Answer {
			r.Against = append(r.Against, fmt.Sprintf("%s: %s, not %s", e.Request, other, e.Answer))
		}
	}
	if r.Verdict == OK && len(r.Against) > 0 {
		r.Verdict = Differs
	}
}

// follow skips the rows whose break another one explains.
func follow(results []*Result) []Result {
	wrong := func(row, resource string) bool {
		return slices.ContainsFunc(results, func(r *Result) bool {
			return r.Row == row && (r.once || r.Resource == resource) && (r.Verdict == Broken || r.Verdict == Costs)
		})
	}
	all := make([]Result, len(results))
	for i, r := range results {
		all[i] = *r
		if r.Verdict == OK {
			continue
		}
		if n := slices.IndexFunc(r.needs, func(need string) bool { return wrong(need, r.Resource) }); n >= 0 {
			all[i].Verdict, all[i].Breaks, all[i].Against = Skipped, "", nil
			all[i].Came = fmt.Sprintf("follows from %s: %s", r.needs[n], r.Came)
		}
	}
	return all
}

// Write prints results for people: a line for each row, and below what is not well, what that breaks.
func Write(w io.Writer, results []Result) {
	count := map[Verdict]int{}
	for _, r := range results {
		count[r.Verdict]++
		fmt.Fprintf(w, "%-8s %-18s %-16s %s\n", r.Verdict, r.Row, r.Resource, r.Came)
		for _, difference := range r.Against {
			fmt.Fprintf(w, "         against: %s\n", difference)
		}
		if r.Breaks == "" {
			continue
		}
		fmt.Fprintf(w, "         law:     %s\n         breaks:  %s\n", r.Law, r.Breaks)
		for _, e := range r.Asked {
			fmt.Fprintf(w, "         asked:   %s: %s\n", e.Request, e.Answer)
		}
	}
	fmt.Fprintf(w, "%d ok, %d broken, %d differ, %d cost, %d skipped\n",
		count[OK], count[Broken], count[Differs], count[Costs], count[Skipped])
}

// Check returns an error if a law is broken, or the endpoints differ.
func Check(results []Result) error {
	wrong := 0
	for _, r := range results {
		if r.Verdict == Broken || r.Verdict == Differs {
			wrong++
		}
	}
	if wrong == 0 {
		return nil
	}
	return fmt.Errorf("%d of %d rows are broken or differ", wrong, len(results))
}
