package main

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"time"

	"golang.org/x/sync/errgroup"

	"sluice/test/harness"
)

// profileTime is the duration of a CPU profile.
const profileTime = 10 * time.Second

// profile runs a scenario at Sluice again and again while it takes Sluice's CPU profile, then takes the profile of
// allocations. Without --profiles it does nothing.
func (w *world) profile(ctx context.Context, s *scenario) error {
	if w.profiles == "" || s.clients == 0 {
		return nil
	}
	name := strings.ReplaceAll(s.name, " ", "-")
	end := time.Now().Add(profileTime)
	g, ctx := errgroup.WithContext(ctx)
	g.Go(func() error {
		return w.keepProfile(w.sluice, fmt.Sprintf("profile?seconds=%.0f", profileTime.Seconds()), name+".cpu.pb.gz")
	})
	g.Go(func() error {
		for time.Now().Before(end) {
			if _, err := s.op(ctx, w, s, w.cached); err != nil {
				return err
			}
		}
		return nil
	})
	if err := g.Wait(); err != nil {
		return err
	}
	return w.keepProfile(w.sluice, "allocs", name+".mem.pb.gz")
}

func (w *world) keepProfile(s *harness.Sluice, kind, name string) (err error) {
	defer fails(&err)
	text := must(s.AdminGet("/debug/pprof/" + kind))
	check(os.MkdirAll(w.profiles, 0o755))
	return os.WriteFile(filepath.Join(w.profiles, name), []byte(text), 0o644)
}
