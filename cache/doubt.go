package cache

import (
	"fmt"
	"math"
	"time"
)

// Doubt begins a time in which only an inventory proves a state, up to its version. The watch of the store has ended, and
// before the next one is open, etcd may be restored from a backup and pass the version of the store: an equal version, a
// bookmark or the silence of a second watch then says nothing about objects of the discarded history, and neither does an
// inventory from before. The writer applies nothing before [Store.Trust] or [Store.Resumed].
//
// An inventory compares keys and resource versions. It cannot tell two histories apart that have written the same
// objects at the same versions, and differ in their contents only.
func (s *Store) Doubt() { s.trust(0, false) }

// Resumed says that the next watch is open. The doubt ends once the state equals an inventory that is asked for from now on.
func (s *Store) Resumed() { s.trust(0, true) }

// Trust ends the doubt: the next watch of the store continues its history.
func (s *Store) Trust() { s.trust(math.MaxUint64, true) }

func (s *Store) trust(version uint64, resumed bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.doubted, s.resumed = time.Now(), resumed
	s.trusted.Store(version)
	s.changed.broadcast()
}

// Doubtful reports whether only an inventory proves a state now.
func (s *Store) Doubtful() bool { return s.trusted.Load() != math.MaxUint64 }

// trustInventory records in a time of doubt that the state equals an inventory. The caller must hold mu.
func (s *Store) trustInventory(r *Inventory) {
	version := r.Version
	if s.resumed {
		version = math.MaxUint64
	}
	if version > s.trusted.Load() && !r.Asked.Before(s.doubted) {
		s.trusted.Store(version)
		s.changed.broadcast()
	}
}

// Proves reports whether the newest state is known to show everything that the apiserver had committed up to
// version.
func (s *Store) Proves(version uint64) bool {
	return version <= s.trusted.Load() && s.Snapshot().Reaches(version)
}

// ProvesHistory is Proves for the history.
func (s *Store) ProvesHistory(version uint64) bool {
	return version <= s.trusted.Load() && s.Streamed() >= version
}

// Behind returns the error for an apiserver that is at an older version than the store was before.
func Behind(version, before uint64) error {
	return fmt.Errorf("apiserver is at version %d, store is at %d: %w", version, before, ErrDiverged)
}
