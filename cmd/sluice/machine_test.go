package main

import (
	"context"
	"runtime/debug"
	"testing"
	"testing/synctest"
	"time"

	"sluice/config"
	"sluice/proxy/accounts"
)

func TestStoresMayTakeHalfOfTheMemoryUnlessTheConfigurationSaysOtherwise(t *testing.T) {
	for _, tt := range []struct{ configured, process, want int64 }{{0, 1 << 30, 512 << 20}, {700 << 20, 1 << 30, 700 << 20}} {
		if got := storesMemory(tt.configured, tt.process); got != tt.want {
			t.Errorf("configured %d of %d: %d bytes, want %d", tt.configured, tt.process, got, tt.want)
		}
	}
}

func TestCallersTakeLessWhereTheProcessNeedsMoreThanIsCounted(t *testing.T) {
	m := accounts.Machine{Memory: 800}
	for _, tt := range []struct {
		name                        string
		cached, needed, taken, want int64
	}{
		{"an eighth stays for garbage", 0, 0, 0, 700},
		{"besides what is cached", 300, 400, 100, 400},
		{"a quarter however much is cached", 650, 700, 100, 200},
		{"more is needed than is usable", 100, 750, 550, 400},
		{"more is needed, and callers take little", 100, 750, 150, 200},
	} {
		if got := callerMemory(m, tt.cached, tt.needed, tt.taken); got != tt.want {
			t.Errorf("%s: %d, want %d", tt.name, got, tt.want)
		}
	}
}

func TestWhatIsEncodedYieldsToCallers(t *testing.T) {
	m := accounts.Machine{Memory: 800}
	for _, tt := range []struct {
		name                                             string
		configured, stores, taken, needed, encoded, want int64
	}{
		{"there is room for all", 96, 300, 200, 550, 20, 96},
		{"callers leave less", 96, 300, 320, 600, 20, 40},
		{"callers leave nothing", 96, 300, 360, 600, 20, 12},
		{"the process needs more than is counted", 96, 300, 200, 730, 80, 50},
		{"the process needs nearly all", 96, 300, 200, 690, 20, 30},
		{"nothing is kept", 0, 0, 0, 0, 0, 0},
	} {
		if got := encodedMemory(m, tt.configured, tt.stores, tt.taken, tt.needed, tt.encoded); got != tt.want {
			t.Errorf("%s: %d, want %d", tt.name, got, tt.want)
		}
	}
}

func TestConfiguredMemoryIsAtMostWhatGoMayUse(t *testing.T) {
	const limit = 4 << 30
	defer debug.SetMemoryLimit(debug.SetMemoryLimit(limit))
	for configured, want := range map[int64]int64{1 << 30: 1 << 30, 8 << 30: limit} {
		if got := machine(configured).Memory; got != want {
			t.Errorf("of %d configured bytes there are %d, want %d", configured, got, want)
		}
	}
}

// What is encoded follows the configuration that was reloaded last, and what callers take.
func TestMemoryIsDividedAnewEachSecond(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c := newTestComponents(t, 0)
		defer c.upstream.Close()
		c.machine.Memory = 1 << 30
		c.accounts.SetTotals(accounts.Totals{accounts.Requests: 1 << 30})
		file := &config.File{}
		file.Default()
		c.reloader = &reloader{}
		c.reloader.running.Store(file)
		ctx, cancel := context.WithCancel(t.Context())
		done := make(chan error)
		go func() { done <- c.followMemory(ctx) }()
		expect := func(when string, least, most int64) {
			t.Helper()
			time.Sleep(2 * memoryEvery)
			synctest.Wait()
			if got := c.encoded.Limit(); got < least || got > most {
				t.Errorf("%s: %d bytes, want %d to %d", when, got, least, most)
			}
		}
		configured := *file.Cache.EncodedBytes
		expect("at first", configured, configured)
		g, err := c.accounts.Account(accounts.ByUser("jane")).TakeRevocable(accounts.Requests, 600<<20, nil)
		if err != nil {
			t.Fatal(err)
		}
		expect("beside callers", configured/minEncodedPart, configured-1)
		g.Release()
		expect("after them", configured, configured)
		less := *file
		less.Cache.EncodedBytes = new(configured / 2)
		c.reloader.running.Store(&less)
		expect("after a reload", configured/2, configured/2)
		cancel()
		<-done
	})
}
