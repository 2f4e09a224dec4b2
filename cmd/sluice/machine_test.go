package main

import (
	"context"
	"runtime/debug"
	"testing"
	"testing/synctest"
	"time"

	"sluice/config"
	"sluice/proxy/limits"
)

func TestStoresMayTakeHalfOfTheMemoryUnlessTheConfigurationSaysOtherwise(t *testing.T) {
	for _, tt := range []struct{ configured, process, want int64 }{{0, 1 << 30, 512 << 20}, {700 << 20, 1 << 30, 700 << 20}} {
		if got := storesMemory(tt.configured, tt.process); got != tt.want {
			t.Errorf("configured %d of %d: %d bytes, want %d", tt.configured, tt.process, got, tt.want)
		}
	}
}

func TestWhatIsEncodedYieldsToCallersAndCallersToStores(t *testing.T) {
	m := machineLimits{memory: 800} // of which 700 are usable
	for _, tt := range []struct {
		name                                               string
		configured, stores, held, wantEncoded, wantCallers int64
	}{
		{"there is room for all", 96, 300, 200, 96, 304},
		{"callers leave less", 96, 300, 320, 40, 360},
		{"callers leave nothing", 96, 300, 360, 12, 388},
		{"a quarter for callers however much is stored", 96, 650, 0, 50, 200},
		{"nothing is kept", 0, 0, 0, 0, 700},
	} {
		if encoded, callers := divide(m, tt.configured, tt.stores, tt.held); encoded != tt.wantEncoded || callers != tt.wantCallers {
			t.Errorf("%s: %d, %d, want %d, %d", tt.name, encoded, callers, tt.wantEncoded, tt.wantCallers)
		}
	}
}

func TestConfiguredMemoryIsAtMostWhatGoMayUse(t *testing.T) {
	const limit = 4 << 30
	defer debug.SetMemoryLimit(debug.SetMemoryLimit(limit))
	for configured, want := range map[int64]int64{1 << 30: 1 << 30, 8 << 30: limit} {
		if got := machine(configured).memory; got != want {
			t.Errorf("of %d configured bytes there are %d, want %d", configured, got, want)
		}
	}
}

// What is encoded follows the configuration that was reloaded last, and what callers take.
func TestMemoryIsDividedAnewEachSecond(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c := newTestComponents(t, 0)
		defer c.upstream.Close()
		c.machine.memory = 1 << 30
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
		g, err := c.memory.Users.TakeUntil(limits.Caller{Group: "jane"}, 740<<20, func() {})
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
