package main

import (
	"errors"
	"testing"
)

func TestFailsReturnsTheErrorOfCheckAndOfMustOnly(t *testing.T) {
	broken := errors.New("broken")
	value := func(err error) (n int, failed error) {
		defer fails(&failed)
		n = must(7, err)
		check(nil)
		return n, nil
	}
	if n, err := value(nil); n != 7 || err != nil {
		t.Errorf("%d, %v", n, err)
	}
	if _, err := value(broken); !errors.Is(err, broken) {
		t.Errorf("error is %v", err)
	}
	defer func() {
		if recover() == nil {
			t.Error("another panic is an error")
		}
	}()
	_ = func() (err error) {
		defer fails(&err)
		panic("other")
	}()
}
