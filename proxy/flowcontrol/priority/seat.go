package priority

import "sync"

// Seat is the place of one request at the apiserver.
type Seat struct {
	// Level and Schema are the names of the priority level and the FlowSchema of the request.
	Level, Schema string

	once sync.Once
	left chan struct{} // closed by Leave
}

// Leave gives the seat back. Only the first call has an effect.
func (s *Seat) Leave() { s.once.Do(func() { close(s.left) }) }
