package why

import "sluice/proxy/message"

// Verdict is what becomes of a request.
type Verdict string

// The verdicts. Unknown means that it shows only when the request is made; only requests that were made have failed.
const (
	Served  Verdict = "served"
	Passed  Verdict = "passed"
	Refused Verdict = "refused"
	Failed  Verdict = "failed"
	Unknown Verdict = "unknown"
)

// Explanation says what becomes of a request, or what has become of it, and by which rule.
type Explanation struct {
	Verdict Verdict `json:"verdict"`
	// Reason is the label reason of the metrics. It is empty if several are possible, and for a request that is
	// invalid.
	Reason   string `json:"reason"`
	Sentence string `json:"sentence"`
	Do       string `json:"do"`  // what can be done; empty if there is nothing to do
	Doc      string `json:"doc"` // where the reason is explained
	Rules    []Row  `json:"rules,omitempty"`
}

// Troubleshooting is the page that has a row for each reason.
const Troubleshooting = "docs/troubleshooting.md"

// New returns the Explanation of a verdict.
func New(v Verdict, reason string) *Explanation {
	e := &Explanation{Verdict: v, Reason: reason}
	if advice, known := message.AdviceFor(reason); known {
		e.Do, e.Doc = advice.Do, Troubleshooting+"#"+reason
	}
	return e
}

// Explain returns the Explanation of what was taken down.
func (r *Recorder) Explain(v Verdict, reason string) *Explanation {
	deciding := r.rows[r.last]
	if deciding.Answer == Unsure && v != Refused {
		v = Unknown
	}
	e := New(v, reason)
	e.Rules, e.Sentence = r.Rows(), deciding.Facts
	return e
}
