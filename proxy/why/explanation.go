// Package why tells why Sluice has served, passed or refused a request, by its reason, and keeps the last requests.
package why

import (
	"strings"

	"sluice/proxy/clients"
	"sluice/proxy/message"
)

// Explanation is the outcome of a request, its reason, and advice.
type Explanation struct {
	APIVersion string `json:"apiVersion"`
	Kind       string `json:"kind"`
	Verdict    string `json:"verdict"` // an outcome, or Unknown
	// Reason is the label reason of the metrics. It is empty for a request that is invalid.
	Reason   string `json:"reason"`
	Sentence string `json:"sentence"`
	Do       string `json:"do"`  // what can be done; empty if there is nothing to do
	Doc      string `json:"doc"` // where the reason is explained
}

// Unknown is the verdict of a request whose response does not tell.
const Unknown = "unknown"

// Troubleshooting is the page that has a row for each reason.
const Troubleshooting = "docs/troubleshooting.md"

// New returns the Explanation of a verdict on a request, whose answer a text describes.
func New(verdict, reason, answer string) *Explanation {
	e := &Explanation{APIVersion: clients.APIVersion, Kind: "Explanation", Verdict: verdict, Reason: reason, Sentence: answer}
	if advice, known := message.AdviceFor(reason); known {
		e.Sentence = strings.TrimPrefix(advice.Means+"; "+answer, "; ")
		e.Do, e.Doc = advice.Do, Troubleshooting+"#"+reason
	}
	return e
}
