package cache

// subscription is the part of the history that concerns one scope, shared by the cursors of that
// scope. The subscription of the whole resource exists as long as the store, others as long as they
// have cursors. The store's mutex guards all fields except the notifier.
type subscription struct {
	notifier // broadcasts on each event of the scope, and when the store ends

	events  ring
	from    uint64 // events has all events of the scope after this position, and none before it
	cursors int
}
