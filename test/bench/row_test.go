package main

import (
	"testing"
	"time"
)

func TestPercentileIsTheNearestRank(t *testing.T) {
	hundred := make([]int, 100)
	for i := range hundred {
		hundred[i] = 100 - i
	}
	for name, c := range map[string]struct {
		values []int
		p      float64
		want   int
	}{
		"one value":            {[]int{7}, 99, 7},
		"lower middle of two":  {[]int{9, 3}, 50, 3},
		"middle of three":      {[]int{5, 1, 3}, 50, 3},
		"99th of a hundred":    {hundred, 99, 99},
		"largest of a hundred": {hundred, 100, 100},
	} {
		if got := percentile(c.values, c.p); got != c.want {
			t.Errorf("%s: %d, not %d", name, got, c.want)
		}
	}
	if got, of := median([]float64{4, 1, 2, 8}); got != 3 || of != (spread{4, 1, 8}) {
		t.Errorf("the median is %v of %v", got, of)
	}
}

func TestTurnsOfAnAttackAddUp(t *testing.T) {
	r := &report{}
	for i, victim := range []string{"one", "other", "one"} {
		turn := newRow(attackTable, "attack")
		turn.What, turn.Target = victim, sluiceName
		seen := &figures{Requests: 1, Peak: int64(i), Counts: tally{"503": 1}}
		seen.timed([]time.Duration{time.Second})
		turn.By[quietly], turn.By[attacked], turn.By[attackCommand] = &figures{}, seen, &figures{Counts: tally{"200": 5}}
		r.addAttack(turn)
	}
	if len(r.Rows) != 2 {
		t.Fatalf("%d rows", len(r.Rows))
	}
	seen, answers := r.Rows[0].of(attacked), r.Rows[0].of(attackCommand).Counts
	if seen.Requests != 4 || seen.failed() != "2 of 4: 503 (2)" || len(seen.walls) != 2 || seen.Peak != 2 || answers["200"] != 10 {
		t.Errorf("%+v, answers %v", seen, answers)
	}
}

func TestCaseWithoutTheApiserverIsNoWorstCase(t *testing.T) {
	r := &report{Rows: []*row{{Table: listTable, Case: "list json gzip x20", By: map[string]*figures{sluiceName: {CPU: 1}}}}}
	if worst, measured := goals[0].worst(r); measured {
		t.Errorf("%v times the apiserver's", worst)
	}
}
