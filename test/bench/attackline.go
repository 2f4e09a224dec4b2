package main

import (
	"io"

	"sluice/test/abuse"
)

// attackLine is a line of the report: what one victim sees of one attack on a target.
type attackLine struct {
	Attack   string         `json:"attack"`
	What     string         `json:"what"`
	Target   string         `json:"target"`
	Victim   string         `json:"victim"`
	Quiet    *victimFigures `json:"quiet"`
	Attacked *victimFigures `json:"attacked"`
	// Beside are the same requests at the apiserver at the same time; nil if that is the target.
	Beside *victimFigures `json:"beside"`
	RSS    int64          `json:"rssBytes"` // before the attack
	Peak   int64          `json:"peakRSSBytes"`
	// Answers are what the attackers were answered.
	Answers abuse.Tally `json:"answers"`
}

// addAttack adds a line to the report, or its figures to those of the same victim at another time.
func (r *report) addAttack(l *attackLine) {
	for _, of := range r.Attacks {
		if of.Attack != l.Attack || of.Target != l.Target || of.Victim != l.Victim {
			continue
		}
		of.Quiet.add(l.Quiet)
		of.Attacked.add(l.Attacked)
		if of.Beside != nil {
			of.Beside.add(l.Beside)
		}
		of.Peak = max(of.Peak, l.Peak)
		for answer, n := range l.Answers {
			of.Answers[answer] += n
		}
		return
	}
	r.Attacks = append(r.Attacks, l)
}

func (r *report) printAttacks(out io.Writer) {
	if len(r.Attacks) == 0 {
		return
	}
	t := newTable(out, "attack on", "", "victim", "p50/p99 ms", "failed", "attacked", "failed", "apiserver meanwhile", "failed", "RSS MB", "peak", "attackers' answers")
	for _, l := range r.Attacks {
		beside := []string{none, none}
		if l.Beside != nil {
			beside = []string{l.Beside.latency(), l.Beside.failed()}
		}
		t.row(l.Target, l.What, l.Victim, l.Quiet.latency(), l.Quiet.failed(), l.Attacked.latency(), l.Attacked.failed(),
			beside[0], beside[1], megabytes(l.RSS), megabytes(l.Peak), l.Answers.String())
	}
	t.flush()
}
