package harness

import (
	"net"
	"testing"
)

func TestReservedPortCanBeListenedOnAgain(t *testing.T) {
	listen := func(address string) net.Listener {
		t.Helper()
		l, err := net.Listen("tcp", address)
		if err != nil {
			t.Fatal(err)
		}
		return l
	}
	first := listen("127.0.0.1:0")
	address := first.Addr().String()
	first.Close()
	var r reservation
	r.reserve("https://"+address, "https://localhost:1", "")
	if len(r) != 1 {
		t.Fatalf("%d ports are reserved", len(r))
	}
	if c, err := net.Dial("tcp", address); err == nil {
		c.Close()
		t.Error("the reservation accepts a connection")
	}
	again := listen(address)
	defer again.Close()
	r.release()
	c, err := net.Dial("tcp", address)
	if err != nil {
		t.Fatal(err)
	}
	c.Close()
}
