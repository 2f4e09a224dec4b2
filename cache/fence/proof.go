package fence

// Proof is the way in which a state was confirmed to be recent enough.
type Proof uint8

const (
	// ByOwnWatch is a proof by the store's own watch: an event or a bookmark at or above the version.
	ByOwnWatch Proof = iota
	// BySecondWatch is a proof by a bookmark of a second, short watch.
	BySecondWatch
	// ByInventory is a proof by a list that names exactly the objects of the state.
	ByInventory
)

// String returns the proof as a metric label value.
func (p Proof) String() string {
	switch p {
	case BySecondWatch:
		return "probe-watch"
	case ByInventory:
		return "roll-call"
	}
	return "own-watch"
}
