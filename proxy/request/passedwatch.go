package request

import "sync"

// PassedWatch connects a watch that passes to the apiserver with the handler that decides when it
// ends. The forwarder sets Opened and Resumable and obeys Ended, which the handler sets. It is safe for
// concurrent use.
type PassedWatch struct {
	// InitialEvents reports whether the watch begins with initial events: ended among them, the client
	// has nothing to resume from.
	InitialEvents bool
	// Opened: the apiserver has begun the response, with status 200.
	Opened Signal
	// Resumable: the client has received an event to resume from: any event, or of a watch with
	// initial events the bookmark that ends these.
	Resumable Signal
	// Ended: the watch must end, as soon as the client has received the last event whole.
	Ended Signal
	// How is how the watch ends. It is set before Ended.
	How WatchEnd
	// Expired: the last event of the apiserver was an ERROR with code 410. The forwarder sets it at the end of the response.
	Expired bool
}

// NewPassedWatch returns a PassedWatch that has not been opened.
func NewPassedWatch(initialEvents bool) *PassedWatch {
	return &PassedWatch{InitialEvents: initialEvents, Opened: newSignal(), Resumable: newSignal(), Ended: newSignal()}
}

// Signal is a channel that is closed once.
type Signal struct {
	done chan struct{}
	once *sync.Once
}

func newSignal() Signal { return Signal{make(chan struct{}), new(sync.Once)} }

// Set closes the channel.
func (s Signal) Set() { s.once.Do(func() { close(s.done) }) }

// Done returns the channel.
func (s Signal) Done() <-chan struct{} { return s.done }
