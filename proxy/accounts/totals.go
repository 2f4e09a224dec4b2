package accounts

// Machine is what the process may use.
type Machine struct {
	Memory      int64 // bytes
	Descriptors int64 // open files
}

// Totals are how much of each resource there is, for all callers together.
type Totals [numResources]int64

// RequestBytes is what a request takes besides its header: its goroutine and what it refers to.
const RequestBytes = 16 << 10

const (
	// maxStrangers bounds the connections, and maxUnverified the memory in bytes, of callers without
	// credentials on any machine.
	maxStrangers  = 2048
	maxUnverified = 64 << 20
)

// TotalsOf returns the totals for a machine. A sixteenth of the descriptors is left for what
// counts for nobody.
func TotalsOf(m Machine) Totals {
	return Totals{
		Silent:      max(64, m.Descriptors/16),
		Strangers:   max(64, min(m.Descriptors/8, maxStrangers)),
		Connections: max(64, m.Descriptors*5/8),
		Unverified:  max(4<<20, min(m.Memory/16, maxUnverified)),
		Requests:    max(16<<20, m.Memory/2),
		Bodies:      max(16<<20, m.Memory/4),
		Streams:     max(64, m.Descriptors/8),
		Held:        max(4<<20, m.Memory/4),
	}
}
