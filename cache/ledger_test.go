package cache

import (
	"errors"
	"testing"
)

func TestConfirmedStatesAreAboveTheVersionThatTheHistoryReaches(t *testing.T) {
	for version, kept := range map[uint64]int{4: 3, 5: 2, 6: 2, 9: 0, 10: 0} {
		var l ledger
		for _, confirmed := range []uint64{7, 5, 9} {
			l.confirm(confirmedState{Snapshot: Snapshot{Version: confirmed}})
		}
		l.drop(version)
		if len(l.confirmed) != kept {
			t.Errorf("at %d: %d states", version, len(l.confirmed))
		}
		if _, err := l.at(version); !errors.Is(err, ErrAhead) {
			t.Errorf("at %d: %v", version, err)
		}
	}
}
