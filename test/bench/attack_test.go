package main

import (
	"testing"
	"time"
)

func TestTurnsOfAnAttackAddUp(t *testing.T) {
	turn := func(victim string, peak int64) *row {
		r := newRow(attackTable, "attack")
		r.What, r.Target = victim, sluiceName
		seen := &figures{Requests: 1, Peak: peak, Counts: tally{"503": 1}}
		seen.timed([]time.Duration{time.Second})
		r.By[quietly], r.By[attacked], r.By[attackCommand] = &figures{Counts: tally{}}, seen, &figures{Counts: tally{"200": 5}}
		return r
	}
	r := &report{}
	for _, victim := range []string{"one", "other", "one"} {
		r.addAttack(turn(victim, int64(len(r.Rows))))
	}
	if len(r.Rows) != 2 {
		t.Fatalf("%d rows", len(r.Rows))
	}
	seen, answers := r.Rows[0].of(attacked), r.Rows[0].of(attackCommand).Counts
	if seen.Requests != 4 || seen.failed() != "2 of 4: 503 (2)" || len(seen.walls) != 2 || seen.Peak != 2 || answers["200"] != 10 {
		t.Errorf("%+v, answers %v", seen, answers)
	}
}
