package main

import (
	"context"
	"runtime/debug"
	"syscall"
	"time"

	"k8s.io/apimachinery/pkg/util/wait"

	"sluice/cmd/sluice/memory"
	"sluice/proxy/accounts"
)

const (
	// maxDescriptors is what is assumed where the number of open files is not limited.
	maxDescriptors = 1 << 20
	// memoryEvery is how often the memory is divided.
	memoryEvery = time.Second
)

// machine returns what the process may use: the memory of the configuration, if that is not 0, and at most what the Go
// runtime may use.
func machine(configured int64) accounts.Machine {
	m := accounts.Machine{Memory: min(configured, debug.SetMemoryLimit(-1)), Descriptors: maxDescriptors}
	if configured == 0 {
		m.Memory = min(debug.SetMemoryLimit(-1), memory.Limit())
	}
	var files syscall.Rlimit
	if syscall.Getrlimit(syscall.RLIMIT_NOFILE, &files) == nil {
		m.Descriptors = int64(min(files.Cur, maxDescriptors))
	}
	return m
}

// storesShare is the part of the memory of the process that stores may take, as a divisor. The rest is for
// encoded objects, connections, responses and garbage.
const storesShare = 2

// storesMemory returns the limit of all stores together: the configured one, or if that is 0 what follows from
// the memory of the process.
func storesMemory(configured, process int64) int64 {
	if configured != 0 {
		return configured
	}
	return process / storesShare
}

// usable returns how much of a machine's memory the process may need: an eighth stays free for garbage.
func usable(m accounts.Machine) int64 { return m.Memory * 7 / 8 }

// callerMemory returns how much of a machine's memory callers may take beside what is cached, at least a quarter. If the
// process needs more than is usable, because what they take is estimated, they may take less than they do by the excess and an
// eighth of the memory: new requests are refused. What is held stays, since closed connections are freed too slowly to help.
func callerMemory(m accounts.Machine, cached, needed, taken int64) int64 {
	free := usable(m) - cached
	if excess := needed - usable(m); excess > 0 {
		free = min(free, taken-excess-m.Memory/8)
	}
	return max(m.Memory/4, free)
}

const (
	// minEncodedPart divides the configured limit of what is encoded: it may always take so much.
	minEncodedPart = 8
	// callerHeadroom divides what callers take: what is encoded leaves them so much besides.
	callerHeadroom = 8
)

// encodedMemory returns how much of a machine's memory what is encoded may take, where the process needs so much with what was
// encoded then: the configured limit, less where stores and callers, who may come to take more, leave less, or the process needs
// more than is usable. It can be encoded anew, and callers could only be refused.
func encodedMemory(m accounts.Machine, configured, stores, taken, needed, encoded int64) int64 {
	return max(configured/minEncodedPart, min(configured, usable(m)-stores-taken-taken/callerHeadroom, usable(m)-needed+encoded))
}

// followMemory divides the memory among callers and what is encoded, beside stores and what the process needs, until ctx ends.
func (c *components) followMemory(ctx context.Context) error {
	var collection uint64 // the last one
	var encoded int64     // what was encoded then
	wait.UntilWithContext(ctx, func(context.Context) {
		objects, history := c.resources.Memory()
		stores, taken := objects+history, c.accounts.LeastMemory()
		needed, last := memory.Needed()
		if last != collection {
			collection, encoded = last, c.encoded.Used()
		}
		configured := *c.reloader.running.Load().Cache.EncodedBytes
		c.encoded.SetLimit(encodedMemory(c.machine, configured, stores, taken, needed, encoded))
		yielded := max(0, encoded-c.encoded.Used()) // what the next collection frees
		c.accounts.SetMemory(callerMemory(c.machine, stores+c.encoded.Used(), needed-yielded, taken))
	}, memoryEvery)
	return nil
}
