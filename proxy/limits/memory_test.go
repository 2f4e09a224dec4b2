package limits

import "testing"

// Alive, and no worse than direct: whoever is not authenticated has a part of the memory apart from that of users.
func TestTheMemoryIsDividedByPrices(t *testing.T) {
	for _, tt := range []struct {
		name                         string
		memory, files                int64
		unauthenticated              int64
		connections                  int
		connectionPrice, streamPrice int64
	}{
		{"a sixteenth", 256 << 20, 1 << 20, 16 << 20, 409, 40 << 10, 56 << 10},
		{"64 MiB and 1,024 connections at most", 8 << 30, 1 << 20, 64 << 20, 1024, 40 << 10, 64 << 10},
		{"few open files", 1 << 30, 4096, 64 << 20, 512, 256 << 10, 2 << 20},
		{"10,000 connections with a watch each fit into 1 GiB and 20,000 open files", 966 << 20, 20_000, 63307776, 1024, 50646, 405169},
		{"hardly any", 1 << 20, 64, 64 << 10, 16, 40 << 10, 128 << 10},
	} {
		m := NewMemory(tt.memory, tt.files)
		un, us := m.Unauthenticated.Usage().Total, m.Users.Usage().Total
		if un != tt.unauthenticated || un+us != tt.memory || m.UnauthenticatedConnections != tt.connections ||
			m.ConnectionBytes != tt.connectionPrice || m.PassedBytes != tt.streamPrice {
			t.Errorf("%s: %d and %d bytes, %d connections, prices %d and %d", tt.name, un, us, m.UnauthenticatedConnections, m.ConnectionBytes, m.PassedBytes)
		}
	}
}
