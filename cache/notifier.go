package cache

import "sync/atomic"

// notifier wakes all goroutines that wait for the next change. The zero value is ready to use.
type notifier struct {
	next atomic.Pointer[chan struct{}] // closed by broadcast; nil while nobody waits
}

// wait returns a channel that the next broadcast closes. A reader that takes the channel before it
// reads the state misses no change.
func (n *notifier) wait() <-chan struct{} {
	for {
		if next := n.next.Load(); next != nil {
			return *next
		}
		fresh := make(chan struct{})
		if n.next.CompareAndSwap(nil, &fresh) {
			return fresh
		}
	}
}

func (n *notifier) broadcast() {
	if next := n.next.Swap(nil); next != nil {
		close(*next)
	}
}
