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

// profileTime is how long a profile of the CPU takes.
const profileTime = 10 * time.Second

// profile runs work once more while Sluice writes down where it spends its time, and then which memory
// it has used. Without --profiles it does nothing.
func (b *bed) profile(ctx context.Context, name string, work func(context.Context) error) error {
	if b.profiles == "" {
		return nil
	}
	if err := os.MkdirAll(b.profiles, 0o755); err != nil {
		return err
	}
	base := filepath.Join(b.profiles, strings.ReplaceAll(name, " ", "-"))
	g, ctx := errgroup.WithContext(ctx)
	g.Go(func() error {
		return b.fetch(fmt.Sprintf("/debug/pprof/profile?seconds=%.0f", profileTime.Seconds()), base+".cpu.pb.gz")
	})
	g.Go(func() error { return work(ctx) })
	if err := g.Wait(); err != nil {
		return err
	}
	return b.fetch("/debug/pprof/allocs", base+".mem.pb.gz")
}

func (b *bed) fetch(path, file string) error {
	text, err := b.sluice.AdminGet(path)
	if err != nil {
		return err
	}
	return os.WriteFile(file, []byte(text), 0o644)
}
