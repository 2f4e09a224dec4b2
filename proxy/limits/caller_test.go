package limits

import "testing"

func TestAddressIsWhatAClientCannotChoose(t *testing.T) {
	for remote, want := range map[string]string{
		"192.0.2.1:4242": "192.0.2.1", "[::ffff:192.0.2.1]:1": "192.0.2.1",
		"[2001:db8:1:2:3:4:5:6]:1": "2001:db8:1:2::/64", "[2001:db8:1:2::9%eth0]:2": "2001:db8:1:2::/64",
		"[2001:db8:1:3::1]:1": "2001:db8:1:3::/64", "[fe80::1%eth0]:1": "fe80::/64", "memory": "memory",
	} {
		if got := addressOf(remote); got != want {
			t.Errorf("%s: %s, want %s", remote, got, want)
		}
	}
}
