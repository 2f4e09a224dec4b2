package table

import (
	"encoding/json"
	"math"
	"math/rand/v2"
	"testing"
	"time"

	"k8s.io/apimachinery/pkg/util/duration"

	sjson "sluice/codec/json"
)

func TestDurationsStandStillUntilTheyChange(t *testing.T) {
	var all []time.Duration
	for _, limit := range []time.Duration{2 * time.Minute, 3 * time.Hour, 2 * day, 2 * year, 10 * time.Minute, 8 * time.Hour, 8 * day, 8 * year} {
		for _, off := range []time.Duration{-year, -day, -time.Minute, -time.Second, -1, 0, 1, time.Second, time.Minute, time.Hour, day} {
			all = append(all, limit+off)
		}
	}
	rng := rand.New(rand.NewPCG(1, 2))
	for range 20000 {
		all = append(all, time.Duration(rng.Int64N(1<<(20+rng.Uint64N(43)))))
	}
	all = append(all, -2*time.Second-1, -2*time.Second, -2*time.Second+1, -1, math.MinInt64, math.MaxInt64, math.MaxInt64-year)
	for _, d := range all {
		next, ok := durationChanges(d)
		if !ok {
			if d < math.MaxInt64-year {
				t.Fatalf("%v never changes", d)
			}
			continue
		}
		now := duration.HumanDuration(d)
		if next <= d || duration.HumanDuration(next) == now {
			t.Fatalf("%v is %q, and %v is %q", d, now, next, duration.HumanDuration(next))
		}
		for range 4 {
			between := d + time.Duration(rng.Uint64N(uint64(next-1-d)+1))
			for _, at := range []time.Duration{between, next - 1} {
				if got := duration.HumanDuration(at); got != now {
					t.Fatalf("%v is %q, but %v is %q before %v", d, now, at, got, next)
				}
			}
		}
	}
}

// someTime returns a time around the present: seconds to centuries ago, or in the future.
func someTime(rng *rand.Rand, now time.Time) time.Time {
	d := time.Duration(rng.Int64N(1 << (20 + rng.Uint64N(43))))
	if rng.IntN(10) == 0 {
		d = time.Duration(rng.Int64N(int64(4*time.Second))) - 2*time.Second
	}
	if rng.IntN(10) == 0 {
		d = -d
	}
	return now.Add(-d)
}

// aging returns an object that has every field from which a kind prints a duration, some of them
// null.
func aging(rng *rand.Rand, now time.Time) sjson.Value {
	at := func() any {
		if rng.IntN(12) == 0 {
			return nil
		}
		return someTime(rng, now).UTC().Format(time.RFC3339Nano)
	}
	condition := func(typ string) map[string]any {
		return map[string]any{"type": typ, "status": "True", "lastTransitionTime": at()}
	}
	object := map[string]any{
		"metadata": map[string]any{"name": "a<b", "creationTimestamp": at()},
		"spec":     map[string]any{"taint": map[string]any{"timeAdded": at()}, "nodeName": "n"},
		"status": map[string]any{
			"startTime": at(), "lastScheduleTime": at(),
			"conditions": []any{condition("Complete"), condition("Ready")},
			"containerStatuses": []any{map[string]any{
				"name": "c", "restartCount": rng.IntN(3), "ready": true, "state": map[string]any{"running": map[string]any{}},
				"lastState": map[string]any{"terminated": map[string]any{"finishedAt": at()}},
			}},
		},
		"firstTimestamp": at(), "lastTimestamp": at(), "eventTime": at(),
		"deprecatedFirstTimestamp": at(), "deprecatedLastTimestamp": at(),
	}
	if rng.IntN(2) == 0 {
		object["series"] = map[string]any{"count": 3, "lastObservedTime": at()}
	}
	if rng.IntN(3) == 0 {
		object["status"].(map[string]any)["completionTime"] = at()
	}
	b, err := json.Marshal(object)
	if err != nil {
		panic(err)
	}
	return b
}

// kindsWithAges returns the columns of every kind by their names.
func kindsWithAges(t *testing.T) map[string]*Columns {
	custom, err := Custom([]PrinterColumn{
		{Name: "Age", Type: "date", JSONPath: ".metadata.creationTimestamp"},
		{Name: "Start", Type: "date", JSONPath: ".status.startTime"},
		{Name: "Ready", Type: "date", JSONPath: `.status.conditions[?(@.type=="Ready")].lastTransitionTime`},
		{Name: "Text", Type: "string", JSONPath: ".metadata.name"},
		{Name: "Not a date", Type: "date", JSONPath: ".metadata.name"},
	})
	if err != nil {
		t.Fatal(err)
	}
	all := map[string]*Columns{"custom": custom}
	for of, c := range known {
		all[of] = c
	}
	return all
}

func TestTextsWithAgesEqualCellsUntilTheyChange(t *testing.T) {
	rng := rand.New(rand.NewPCG(3, 4))
	now := time.Date(2026, 11, 20, 12, 0, 0, 123456789, time.UTC)
	most := map[string]int{}
	for name, c := range kindsWithAges(t) {
		for range 100 {
			object := aging(rng, now)
			text := Text{Bytes: []byte("before")}
			var err error
			if text.Bytes, text.Ages, err = c.AppendAgeless(text.Bytes, object, nil); err != nil {
				continue // undetermined or sorted by the apiserver
			}
			most[name] = max(most[name], len(text.Ages))
			packed := Unpack(text.Pack(nil), nil)
			cells := func(at time.Time) string {
				b, err := c.AppendCells([]byte("before"), object, at)
				if err != nil {
					t.Fatal(err)
				}
				if got := text.AppendAt(nil, at); string(got) != string(b) {
					t.Fatalf("%s at %v: got %s, want %s of %s", name, at, got, b, object)
				}
				if got := packed.AppendAt(nil, at); string(got) != string(b) {
					t.Fatalf("%s packed: got %s, want %s", name, got, b)
				}
				return string(b)
			}
			first := cells(now)
			next, ok := text.Changes(now)
			if !ok {
				cells(now.Add(year))
				continue
			}
			if !next.After(now) || cells(next) == first {
				t.Fatalf("%s does not change at %v: %s", name, next, first)
			}
			between := now.Add(time.Duration(rng.Int64N(max(int64(next.Sub(now)), 1))))
			for _, at := range []time.Time{between, next.Add(-1)} {
				if got := cells(at); got != first {
					t.Fatalf("%s changes from %s to %s at %v, before %v", name, first, got, at, next)
				}
			}
		}
	}
	for name, want := range map[string]int{
		"{ v1 Pod}": 2, "{batch v1 Job}": 2, "{batch v1 CronJob}": 2, "{ v1 Event}": 2, "{events.k8s.io v1 Event}": 2, "{ v1 Node}": 1,
		"{coordination.k8s.io v1 Lease}": 1, "{certificates.k8s.io v1 CertificateSigningRequest}": 1, "custom": 3,
	} {
		if most[name] != want {
			t.Errorf("%s has %d ages, want %d", name, most[name], want)
		}
	}
}

func TestAgelessTextIsUnchangedOnError(t *testing.T) {
	c := newest("autoscaling", "v2", "HorizontalPodAutoscaler")
	object := sjson.Value(`{"metadata":{"name":"\ufffd","creationTimestamp":"2026-01-01T00:00:00Z"},"spec":{"scaleTargetRef":{"kind":"\ufffd"}}}`)
	ages := []Age{{At: 1}}
	got, gotAges, err := c.AppendAgeless([]byte("x"), object, ages)
	if err == nil || string(got) != "x" || len(gotAges) != 1 {
		t.Errorf("%s, %d ages, %v", got, len(gotAges), err)
	}
}
