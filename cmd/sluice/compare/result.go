package compare

import (
	"slices"
	"strings"
)

// Verification is the JSON of results.
type Verification struct {
	APIVersion string   `json:"apiVersion"`
	Kind       string   `json:"kind"`
	Items      []Result `json:"items"`
}

// Result says how a resource differs at one version.
type Result struct {
	Resource        string       `json:"resource"`
	ResourceVersion string       `json:"resourceVersion"`
	AgeSeconds      *float64     `json:"ageSeconds"` // since this was known to be the newest version; null if it is not known
	Objects         int          `json:"objects"`    // that the apiserver has
	Missing         []Difference `json:"missing"`    // objects that Sluice does not serve
	Extra           []Difference `json:"extra"`      // objects that only Sluice serves
	Different       []Difference `json:"different"`
}

func newResult() *Result {
	return &Result{Missing: []Difference{}, Extra: []Difference{}, Different: []Difference{}}
}

// Equal reports whether nothing differs.
func (r *Result) Equal() bool { return len(r.Missing)+len(r.Extra)+len(r.Different) == 0 }

// Difference is an object that differs, and its versions, empty where there is none.
type Difference struct {
	Namespace string `json:"namespace"`
	Name      string `json:"name"`
	Sluice    string `json:"sluiceVersion"`
	Apiserver string `json:"apiserverVersion"`
}

func newDifference(key, sluice, apiserver string) Difference {
	namespace, name, _ := strings.Cut(key, "/")
	return Difference{namespace, name, sluice, apiserver}
}

// objects returns the names of objects that differ.
func (r *Result) objects() map[Difference]bool {
	names := map[Difference]bool{}
	for _, d := range slices.Concat(r.Missing, r.Extra, r.Different) {
		names[Difference{Namespace: d.Namespace, Name: d.Name}] = true
	}
	return names
}

// keep keeps the differences of some objects, and reports whether there is one.
func (r *Result) keep(names map[Difference]bool) bool {
	for _, all := range []*[]Difference{&r.Missing, &r.Extra, &r.Different} {
		*all = slices.DeleteFunc(*all, func(d Difference) bool { return !names[Difference{Namespace: d.Namespace, Name: d.Name}] })
	}
	return !r.Equal()
}
