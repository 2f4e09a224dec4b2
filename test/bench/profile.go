package main

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"time"

	"golang.org/x/sync/errgroup"
)

// profileTime is the duration of a CPU profile.
const profileTime = 10 * time.Second

// profile runs work again while it takes Sluice's CPU profile, then takes the profile of
// allocations. Without --profiles it does nothing.
func (e *env) profile(ctx context.Context, name string, work func(context.Context) error) error {
	if e.profiles == "" {
		return nil
	}
	if err := os.MkdirAll(e.profiles, 0o755); err != nil {
		return err
	}
	base := filepath.Join(e.profiles, strings.ReplaceAll(name, " ", "-"))
	g, ctx := errgroup.WithContext(ctx)
	g.Go(func() error {
		return e.fetch(fmt.Sprintf("/debug/pprof/profile?seconds=%.0f", profileTime.Seconds()), base+".cpu.pb.gz")
	})
	g.Go(func() error { return work(ctx) })
	if err := g.Wait(); err != nil {
		return err
	}
	return e.fetch("/debug/pprof/allocs", base+".mem.pb.gz")
}

func (e *env) fetch(path, file string) error {
	text, err := e.sluice.AdminGet(path)
	if err != nil {
		return err
	}
	return os.WriteFile(file, []byte(text), 0o644)
}
