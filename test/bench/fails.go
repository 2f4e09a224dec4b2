package main

import (
	"context"

	"golang.org/x/sync/errgroup"
)

// A measurement fails as a test does: check and must end all functions up to try, which returns the error. The program,
// each round of a scenario and each goroutine that may fail run in a try.

// failure is an error on its way to try.
type failure struct{ error }

// check ends the functions up to try with an error, unless it is nil.
func check(err error) {
	if err != nil {
		panic(failure{err})
	}
}

// must returns the value of a call, or fails with the call's error, as check does.
func must[T any](value T, err error) T {
	check(err)
	return value
}

// try runs a function and returns the error that it has failed with.
func try(do func()) (err error) {
	defer func() {
		switch f := recover().(type) {
		case nil:
		case failure:
			err = f.error
		default:
			panic(f)
		}
	}()
	do()
	return nil
}

// group is functions that run at the same time. The first that fails ends their context, and then wait fails.
type group struct{ *errgroup.Group }

// newGroup returns a group of which at most limit functions run at the same time; a negative limit means all.
func newGroup(ctx context.Context, limit int) (group, context.Context) {
	g, ctx := errgroup.WithContext(ctx)
	g.SetLimit(limit)
	return group{g}, ctx
}

func (g group) run(do func()) { g.Go(func() error { return try(do) }) }

func (g group) wait() { check(g.Wait()) }
