package files

import (
	"context"
	"os"
	"path/filepath"
	"testing"
	"testing/synctest"
	"time"
)

func write(t *testing.T, path, text string) {
	t.Helper()
	if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
}

func TestChangesAreReportedOnceTheyStand(t *testing.T) {
	dir := t.TempDir()
	a, b := filepath.Join(dir, "a"), filepath.Join(dir, "b")
	write(t, a, "1")
	write(t, b, "1")
	f := New(a, b)
	looks := func(want ...bool) {
		t.Helper()
		for n, w := range want {
			if got := f.Changed(); got != w {
				t.Errorf("look %d: %v", n, got)
			}
		}
	}
	looks(false, false)
	write(t, b, "2")
	looks(false, true, false)
	write(t, a, "the first ha")
	looks(false)
	write(t, a, "the first half and the second")
	looks(false, true, false)
	write(t, a, "for a moment")
	looks(false)
	write(t, a, "the first half and the second")
	looks(false, false)
	if err := os.Remove(a); err != nil {
		t.Fatal(err)
	}
	looks(false, true, false)
}

// What moves from one file to another is a change.
func TestFilesAreToldApart(t *testing.T) {
	dir := t.TempDir()
	a, b := filepath.Join(dir, "a"), filepath.Join(dir, "b")
	write(t, a, "12")
	write(t, b, "3")
	f := New(a, b)
	write(t, a, "1")
	write(t, b, "23")
	if f.Changed() || !f.Changed() {
		t.Error("not reported")
	}
}

func TestFollowEndsWithItsContext(t *testing.T) {
	path := filepath.Join(t.TempDir(), "a")
	synctest.Test(t, func(t *testing.T) {
		write(t, path, "1")
		ctx, cancel := context.WithCancel(t.Context())
		changes, ended := 0, make(chan struct{})
		f := New(path)
		go func() { defer close(ended); f.Follow(ctx, func() { changes++ }) }()
		for n := 1; n <= 3; n++ {
			write(t, path, time.Now().String())
			time.Sleep(3 * Interval) // virtual
			synctest.Wait()
			if changes != n {
				t.Errorf("%d changes, want %d", changes, n)
			}
		}
		cancel()
		<-ended
	})
}
