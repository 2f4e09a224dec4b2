package cache

import (
	"fmt"
	"math"
)

// Doubt begins a time in which only an inventory proves a state, up to its version. The watch of the store has ended, and
// before the next one is open, etcd may be restored from a backup and pass the version of the store: an equal version, a
// bookmark or the silence of a second watch then says nothing about objects of the discarded history, and neither does an
// inventory from before. The writer applies nothing before [Writer.Trust] or [Writer.Resumed].
//
// An inventory compares keys and resource versions. It cannot tell two histories apart that have written the same
// objects at the same versions, and differ in their contents only.
func (w *Writer) Doubt() { w.trust(0, false) }

// Resumed says that the next watch is open. The doubt ends once the state equals an inventory that is asked for from now on.
func (w *Writer) Resumed() { w.trust(0, true) }

// Trust ends the doubt: the next watch of the store continues its history.
func (w *Writer) Trust() { w.trust(math.MaxUint64, true) }

func (w *Writer) trust(version uint64, resumed bool) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.ledger.trust(version, resumed)
}

// Doubtful reports whether only an inventory proves a state now.
func (s *Store) Doubtful() bool { return s.ledger.trusted.Load() != math.MaxUint64 }

// Proves reports whether the newest state is known to show everything that the apiserver had committed up to
// version.
func (s *Store) Proves(version uint64) bool {
	return version <= s.ledger.trusted.Load() && s.Snapshot().Reaches(version)
}

// ProvesHistory is Proves for the history.
func (s *Store) ProvesHistory(version uint64) bool {
	return version <= s.ledger.trusted.Load() && s.Streamed() >= version
}

// Behind returns the error for an apiserver that is at an older version than the store was before.
func Behind(version, before uint64) error {
	return fmt.Errorf("apiserver is at version %d, store is at %d: %w", version, before, ErrDiverged)
}
