package resources

import (
	"context"
	"errors"
	"slices"
	"sync"
	"time"

	"sluice/cache"
	"sluice/cache/reflector"
	"sluice/proxy/wait"
)

const (
	// gatherVersions is how long a read of the prehistory waits for further clients: after a restart they
	// all come back within moments, each with the version that it has seen last.
	gatherVersions = 50 * time.Millisecond
	// maxVersions bounds the versions that one read is made for.
	maxVersions = 1000
	// prehistoryTries is how often a read is repeated from a newer version if the apiserver no longer
	// has the events after the older ones. Each repetition halves maxVersions, so that the newest version is
	// tried whatever the others are.
	prehistoryTries = 10
	// prehistoryLimit bounds one try.
	prehistoryLimit = 5 * time.Second
	// prehistoryEvents bounds the events of one try. Clients from before more of them list again.
	prehistoryEvents = 10_000
)

// changesReader reads the events between two versions at the apiserver.
type changesReader interface {
	Changes(ctx context.Context, from, until uint64, most int) ([]cache.Change, error)
}

// prehistory makes a store serve watches from before its first version, if they have missed nothing. A
// store that has just been filled is newer than every client that was connected before. One read at the
// apiserver serves all of them.
type prehistory struct {
	source changesReader
	store  *cache.Store
	until  uint64 // the first version of the store
	ctx    context.Context
	run    func(func())

	mu   sync.Mutex
	gone uint64          // the apiserver has no events after this version
	next *prehistoryRead // the read that callers can still join; nil if there is none
	busy bool            // a read runs
}

// prehistoryRead is one read.
type prehistoryRead struct {
	versions []uint64
	done     chan struct{}
}

// extend reads the events after version before the store began, for a watch from version. It returns
// false if that cannot be known, or when ctx ends.
func (p *prehistory) extend(ctx context.Context, version uint64) bool {
	p.mu.Lock()
	full := p.next != nil && len(p.next.versions) >= maxVersions
	if known, hopeless := p.knows(version); known || hopeless || full {
		p.mu.Unlock()
		return known
	}
	if p.next == nil {
		p.next = &prehistoryRead{done: make(chan struct{})}
		if !p.busy {
			p.busy = true
			p.run(p.read)
		}
	}
	read := p.next
	read.versions = append(read.versions, version)
	p.mu.Unlock()
	select {
	case <-read.done:
	case <-ctx.Done():
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	known, _ := p.knows(version)
	return known
}

// knows reports whether the events after version are known, and whether they cannot be. The caller must
// hold mu.
func (p *prehistory) knows(version uint64) (known, hopeless bool) {
	return p.store.Prehistory.Knows(version), version <= p.gone || !p.store.Prehistory.CanExtend(p.until)
}

// read makes reads until no caller waits for one.
func (p *prehistory) read() {
	for {
		wait.Pause(p.ctx, gatherVersions)
		p.mu.Lock()
		read := p.next
		p.next = nil
		if p.busy = read != nil; !p.busy {
			p.mu.Unlock()
			return
		}
		p.mu.Unlock()
		p.readFrom(read.versions)
		close(read.done)
	}
}

// readFrom reads from the oldest of the versions from which the apiserver has the events. It leaves out
// versions about which an earlier read has found out, so that its result stays.
func (p *prehistory) readFrom(versions []uint64) {
	slices.Sort(versions)
	p.mu.Lock()
	versions = slices.DeleteFunc(slices.Compact(versions), func(version uint64) bool {
		known, hopeless := p.knows(version)
		return known || hopeless
	})
	p.mu.Unlock()
	for range prehistoryTries {
		if len(versions) == 0 || !p.store.Prehistory.CanExtend(p.until) {
			return
		}
		ctx, cancel := context.WithTimeout(p.ctx, prehistoryLimit)
		changes, err := p.source.Changes(ctx, versions[0], p.until, prehistoryEvents)
		cancel()
		expired := errors.Is(err, reflector.ErrExpired)
		p.mu.Lock()
		if err == nil {
			p.store.Prehistory.Extend(versions[0], p.until, changes)
			expired = !p.store.Prehistory.Knows(versions[0]) // they take too much memory
		}
		if expired {
			p.gone = max(p.gone, versions[0])
		}
		p.mu.Unlock()
		if !expired {
			return
		}
		versions = versions[(len(versions)+1)/2:]
	}
}

// ExtendHistory makes the store serve a watch from a version before its first one, if the watch has
// missed nothing. It returns whether it is worth trying again, and takes a second or so.
func (c *CachedResource) ExtendHistory(ctx context.Context, version uint64) bool {
	return c.prehistory != nil && c.prehistory.extend(ctx, version)
}
