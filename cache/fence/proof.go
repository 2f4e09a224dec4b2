package fence

// Proof is the way in which a state was confirmed to be recent enough, as metrics call it.
type Proof string

const (
	// UpToDate needs no proof but the current version: the store had reached it.
	UpToDate Proof = "up-to-date"
	// ByOwnWatch is a proof by the store's own watch: an event or a bookmark at or above the version.
	ByOwnWatch Proof = "own-watch"
	// BySecondWatch is a proof by a bookmark of a second, short watch.
	BySecondWatch Proof = "probe-watch"
	// ByInventory is a proof by a list that names exactly the objects of the state.
	ByInventory Proof = "roll-call"
)
