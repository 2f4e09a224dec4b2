package main

import (
	"net"
	"strings"
	"testing"
)

func TestInvalidOptionsAreRefused(t *testing.T) {
	taken, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer taken.Close()
	for _, tt := range []struct{ name, arg, want string }{
		{"port in use", "--listen=" + taken.Addr().String(), "address already in use"},
		{"admin port in use", "--admin-listen=" + taken.Addr().String(), "--admin-listen"},
		{"no pods", "--pods=0", "--pods must be positive"},
		{"no directory", "--record=/none/demo.svg", "--record /none/demo.svg"},
		{"stray argument", "now", `unexpected argument "now"`},
	} {
		t.Run(tt.name, func(t *testing.T) {
			if _, err := parseOptions([]string{tt.arg}); err == nil || !strings.Contains(err.Error(), tt.want) {
				t.Errorf("got %v, want %q", err, tt.want)
			}
		})
	}
}
