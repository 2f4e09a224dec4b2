package main

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"time"

	"sluice/test/harness"
)

// profileTime is the duration of a CPU profile.
const profileTime = 10 * time.Second

// profile runs a scenario at Sluice again and again while it takes Sluice's CPU profile, then takes the profile of
// allocations. Without --profiles it does nothing.
func (w *world) profile(ctx context.Context, s *scenario) {
	if w.profiles == "" || s.clients == 0 {
		return
	}
	name := strings.ReplaceAll(s.name, " ", "-")
	end := time.Now().Add(profileTime)
	g, ctx := newGroup(ctx, -1)
	g.run(func() {
		w.keepProfile(w.sluice, fmt.Sprintf("profile?seconds=%.0f", profileTime.Seconds()), name+".cpu.pb.gz")
	})
	g.run(func() {
		for time.Now().Before(end) {
			s.op(ctx, w, s, w.cached)
		}
	})
	g.wait()
	w.keepProfile(w.sluice, "allocs", name+".mem.pb.gz")
}

func (w *world) keepProfile(s *harness.Sluice, kind, name string) {
	text := must(s.AdminGet("/debug/pprof/" + kind))
	check(os.MkdirAll(w.profiles, 0o755))
	check(os.WriteFile(filepath.Join(w.profiles, name), []byte(text), 0o644))
}
