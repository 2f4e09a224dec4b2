package main

import (
	"fmt"
	"io"
)

// abuseLine is a line of the report: the lists of all other users at one target.
type abuseLine struct {
	Target string `json:"target"`
	Users  int    `json:"users"`
	// ListEvery is the seconds between two lists of a user, of which the abusive one makes Factor
	// times as many.
	ListEvery float64       `json:"listEverySeconds"`
	Factor    int           `json:"factor"`
	Without   *abuseFigures `json:"without"` // the abusive user
	With      *abuseFigures `json:"with"`
	Abuser    *abuseFigures `json:"abuser"`
}

// abuseFigures are the figures of some lists.
type abuseFigures struct {
	P50 float64 `json:"p50Seconds"`
	P99 float64 `json:"p99Seconds"`
	// Watches are open at the end.
	Watches int64 `json:"watches"`
	Lists   int   `json:"lists"`
	Bytes   int64 `json:"bytes"`
	Failed  tally `json:"failed"` // not answered with 200, by the reason
	// ServerCPU is what the server uses of a CPU.
	ServerCPU float64 `json:"serverCPU"`
}

// failures returns the reasons of the lists that failed.
func (f *abuseFigures) failures() string {
	if len(f.Failed) == 0 {
		return none
	}
	return f.Failed.String()
}

// moved returns by how much the abusive user moves the p99 of the others, in percent.
func (l *abuseLine) moved() float64 { return 100 * (l.With.P99/l.Without.P99 - 1) }

func (r *report) printAbuse(out io.Writer) {
	if len(r.Abuse) == 0 {
		return
	}
	t := newTable(out, "users with lists and a watch", "open watches", "p50/p99 ms", "server CPU", "failed", "beside an abusive one", "server CPU", "failed", "p99", "abuser's lists, failed")
	for _, l := range r.Abuse {
		t.row(fmt.Sprintf("%d every %gs at the %s", l.Users, l.ListEvery, l.Target), fmt.Sprint(l.Without.Watches),
			millis(l.Without.P50)+"/"+millis(l.Without.P99), figure("%.2f", l.Without.ServerCPU), l.Without.failures(),
			millis(l.With.P50)+"/"+millis(l.With.P99), figure("%.2f", l.With.ServerCPU), l.With.failures(), fmt.Sprintf("%+.0f %%", l.moved()),
			fmt.Sprintf("%d (%d MB), %s", l.Abuser.Lists, l.Abuser.Bytes>>20, l.Abuser.failures()))
	}
	t.flush()
}
