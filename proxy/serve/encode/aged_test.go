package encode

import (
	"testing"
	"testing/synctest"
	"time"

	"sluice/cache/tree"
	"sluice/codec"
	"sluice/codec/table"
	"sluice/test/support/servetest"
)

var tableFormat = codec.Format{Shape: codec.Table}

// The age of object 0 changes each second, the others each hour.
func TestBlocksOfTablesAreMadeAnewWhenAnAgeChanges(t *testing.T) {
	for _, events := range []bool{false, true} {
		synctest.Test(t, func(t *testing.T) {
			c := servetest.AgingFoos(t, 1000, func(i int) time.Duration {
				if i == 0 {
					return 10 * time.Second
				}
				return 3 * 24 * time.Hour
			})
			encoder, err := FormatFor(c, tableFormat)
			if err != nil {
				t.Fatal(err)
			}
			e := NewSegments(encoder, tree.NewBudget(1<<30), false, events)
			before := blocks(t, e, c.Store.Snapshot())
			for _, row := range []struct {
				passes time.Duration
				want   int
			}{{time.Second - 1, 0}, {1, 1}, {time.Second - 1, 0}, {1, 1}, {time.Hour - 2*time.Second - 1, 1}, {1, len(before)}} {
				time.Sleep(row.passes)
				after := blocks(t, e, c.Store.Snapshot())
				if made := countNew(before, after); made != row.want {
					t.Errorf("events %v: %d blocks of %d are new after %v, want %d", events, made, len(before), row.passes, row.want)
				}
				before = after
			}
		})
	}
}

func TestAgesOfAClockThatIsSetBackAreNotReused(t *testing.T) {
	now := time.Now()
	v := validityOf(&table.Text{Ages: []table.Age{{Since: now.Add(-10 * time.Second)}}}, now)
	for d, want := range map[time.Duration]bool{-1: false, 0: true, time.Second - 1: true, time.Second: false, -time.Hour: false} {
		if got := v.has(now.Add(d)); got != want {
			t.Errorf("%v later: %v", d, got)
		}
	}
	for _, since := range []time.Time{{}, now.AddDate(1000, 0, 0)} {
		if v := validityOf(&table.Text{Ages: []table.Age{{Since: since}}}, now); !v.has(now.AddDate(100, 0, 0)) {
			t.Errorf("the age since %v ends at %v", since, v.until)
		}
	}
}
