// Package why tells by which rules Sluice serves, passes or refuses a request, and keeps the last requests.
//
// The functions that decide report each rule that they ask to a Recorder, which a dry run of them carries. Nothing
// else knows what the rules are.
package why

// Rule is a rule that is asked about a request.
type Rule uint8

// The rules, in the order in which a list is asked about.
const (
	Meaning Rule = iota
	Place
	PlainRead
	Known
	Selectors
	Options
	Allowed
	Cached
	Format
	Version
	Proof

	rules
)

var titles = [rules]string{
	Meaning:   "one meaning, few headers",
	Place:     "a place in the limits",
	PlainRead: "a plain get, list or watch",
	Known:     "the caller is known",
	Selectors: "short selectors, in one scope",
	Options:   "options that Sluice serves",
	Allowed:   "the caller may make the read",
	Cached:    "the resource is cached",
	Format:    "a format that Sluice writes",
	Version:   "the cache has the version",
	Proof:     "a proof costs less than passing",
}

// Answer is the answer of a rule.
type Answer string

// The answers.
const (
	Yes      Answer = "yes"
	No       Answer = "no"
	Unsure   Answer = "unsure"
	NotAsked Answer = "not asked"
)

// Row is a rule and its answer.
type Row struct {
	N      int    `json:"n"`
	Rule   string `json:"rule"`
	Answer Answer `json:"answer"`
	Facts  string `json:"facts"`
}

// Recorder takes down the rules that are asked about one request. A request that carries one is a dry run: no
// function that decides about it takes anything, starts anything or asks the apiserver, except whether the caller may
// make the read. Without a Recorder, nil, nothing is taken down.
type Recorder struct {
	// Supposed means that nobody in particular asks: the caller is supposed to be known and to have the right.
	Supposed bool

	rows [rules]Row
	last Rule // that was asked
}

// Rule takes down the answer of a rule, and returns it.
func (r *Recorder) Rule(rule Rule, answer bool, facts func() string) bool {
	if r != nil {
		r.take(rule, answer, facts())
	}
	return answer
}

func (r *Recorder) take(rule Rule, answer bool, facts string) {
	a := No
	if answer {
		a = Yes
	}
	r.rows[rule] = Row{Answer: a, Facts: facts}
	r.last = rule
}

// Doubt takes down that the answer of a rule, which decides, shows only when the request is made.
func (r *Recorder) Doubt(rule Rule, facts string) {
	r.rows[rule] = Row{Answer: Unsure, Facts: facts}
	r.last = rule
}

// Rows returns all rules with their answers.
func (r *Recorder) Rows() []Row {
	rows := r.rows
	for i := range rows {
		rows[i].N, rows[i].Rule = i+1, titles[i]
		if rows[i].Answer == "" {
			rows[i].Answer = NotAsked
		}
	}
	return rows[:]
}
