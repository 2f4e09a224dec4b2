package main

import (
	"context"
	"errors"
	"testing"
)

var errBroken = errors.New("broken")

func TestTryReturnsTheErrorOfCheckAndOfMustOnly(t *testing.T) {
	var n int
	value := func(err error) func() {
		return func() {
			n = must(7, err)
			check(nil)
		}
	}
	if err := try(value(nil)); n != 7 || err != nil {
		t.Errorf("%d, %v", n, err)
	}
	if err := try(value(errBroken)); !errors.Is(err, errBroken) {
		t.Errorf("error is %v", err)
	}
	defer func() {
		if recover() == nil {
			t.Error("another panic is an error")
		}
	}()
	_ = try(func() { panic("other") })
}

func TestGroupFailsWithItsFirstFailure(t *testing.T) {
	g, ctx := newGroup(t.Context(), -1)
	g.run(func() { check(errBroken) })
	g.run(func() { <-ctx.Done() })
	if err := try(g.wait); !errors.Is(err, errBroken) || context.Cause(ctx) != errBroken {
		t.Errorf("error is %v", err)
	}
}
