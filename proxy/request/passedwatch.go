package request

import "sync"

// PassedWatch connects a watch that passes to the apiserver with the handler that decides when it
// ends. The forwarder calls Open and Resume and obeys Ended; the handler calls End. It is safe for
// concurrent use.
type PassedWatch struct {
	// InitialEvents reports whether the watch begins with initial events: ended among them, the client
	// has nothing to resume from.
	InitialEvents bool

	opened, resumable, ended signal
}

// NewPassedWatch returns a PassedWatch that has not been opened.
func NewPassedWatch(initialEvents bool) *PassedWatch {
	return &PassedWatch{
		InitialEvents: initialEvents,
		opened:        newSignal(), resumable: newSignal(), ended: newSignal(),
	}
}

// Open reports that the apiserver has begun the response, with status 200.
func (p *PassedWatch) Open() { p.opened.set() }

// Opened returns a channel that is closed by Open.
func (p *PassedWatch) Opened() <-chan struct{} { return p.opened.done }

// Resume reports that the client has received an event to resume from: any event, or of a watch with
// initial events the bookmark that ends these.
func (p *PassedWatch) Resume() { p.resumable.set() }

// Resumable returns a channel that is closed by Resume.
func (p *PassedWatch) Resumable() <-chan struct{} { return p.resumable.done }

// End asks for the end of the watch, as soon as the client has received the last event whole.
func (p *PassedWatch) End() { p.ended.set() }

// Ended returns a channel that is closed by End.
func (p *PassedWatch) Ended() <-chan struct{} { return p.ended.done }

// signal is a channel that is closed once.
type signal struct {
	done chan struct{}
	once *sync.Once
}

func newSignal() signal { return signal{make(chan struct{}), new(sync.Once)} }

func (s signal) set() { s.once.Do(func() { close(s.done) }) }
