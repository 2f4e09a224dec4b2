package main

import (
	"fmt"
	"io"
)

// printProofs writes a table of consistent reads and the number of cases that miss a goal. Ratios
// are over the apiserver.
func (r *report) printProofs(out io.Writer) {
	if len(r.Proofs) == 0 {
		return
	}
	t := newTable(out, "consistent reads", "p50/p99 ms", "", "", "p50 ratio", "", "upstream CPU ms/read", "", "",
		"CPU ratio", "", "own CPU ms/read", "", "goals missed by", "")
	t.row("", apiserverName, sluiceName, twoTiersName, sluiceName, twoTiersName, apiserverName, sluiceName, twoTiersName,
		sluiceName, twoTiersName, sluiceName, twoTiersName, "", "sluice: source; proofs")
	missed := 0
	for _, l := range r.Proofs {
		a, s, u := l.figures(apiserverName), l.figures(sluiceName), l.figures(twoTiersName)
		if l.missed() != "" {
			missed++
		}
		t.row(l.Case, a.latency(), s.latency(), u.latency(), s.over(s.P50, a.P50), u.over(u.P50, a.P50),
			a.cpu(a.CPU), s.cpu(s.CPU), u.cpu(u.CPU), s.over(s.CPU, a.CPU), u.over(u.CPU, a.CPU),
			s.cpu(s.Own), u.cpu(u.Own), l.missed(), l.remark())
	}
	t.flush()
	fmt.Fprintf(out, "%d of %d cases miss a goal\n", missed, len(r.Proofs))
}

// figures returns the figures of a target, or zero ones.
func (l *proofLine) figures(target string) *proofFigures {
	if f := l.By[target]; f != nil {
		return f
	}
	return &proofFigures{}
}

func (f *proofFigures) latency() string {
	if f.Reads == 0 {
		return none
	}
	return fmt.Sprintf("%.1f/%.1f", f.P50*1e3, f.P99*1e3)
}

// cpu formats CPU per read in milliseconds; the apiserver may have CPU without reads, from a case
// with fewer readers. Zero is a measurement.
func (f *proofFigures) cpu(seconds float64) string {
	if f.Reads == 0 && seconds == 0 {
		return none
	}
	return fmt.Sprintf("%.2f", seconds*1e3)
}

// over formats the ratio of the figures' value to the apiserver's; a value of zero is a
// measurement.
func (f *proofFigures) over(value, apiserver float64) string {
	if f.Reads == 0 || apiserver == 0 {
		return none
	}
	return fmt.Sprintf("%.2fx", value/apiserver)
}

// remark returns the source, the proofs and the note.
func (l *proofLine) remark() string {
	s := l.figures(sluiceName)
	text := s.Source
	for _, more := range []string{s.Proofs, l.Note} {
		if more != "" {
			text += "; " + more
		}
	}
	return text
}
