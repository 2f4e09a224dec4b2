package main

import (
	"context"
	"runtime/debug"
	"syscall"
	"time"

	"k8s.io/apimachinery/pkg/util/wait"

	"sluice/cmd/sluice/memory"
	"sluice/proxy/limits"
)

const (
	// maxDescriptors is assumed where the number of open files is not limited.
	maxDescriptors = 1 << 20
	// memoryEvery is how often the memory is divided.
	memoryEvery = time.Second
)

// machineLimits are the memory and descriptors of the process.
type machineLimits struct {
	memory      int64 // bytes
	descriptors int64 // open files
}

// machine returns the memory and descriptors of the process. The configured memory is 0 for all that the machine has. The limit of
// the Go runtime bounds both.
func machine(configured int64) machineLimits {
	m := machineLimits{memory: min(configured, debug.SetMemoryLimit(-1)), descriptors: maxDescriptors}
	if configured == 0 {
		m.memory = min(debug.SetMemoryLimit(-1), memory.Limit())
	}
	var files syscall.Rlimit
	if syscall.Getrlimit(syscall.RLIMIT_NOFILE, &files) == nil {
		m.descriptors = int64(min(files.Cur, maxDescriptors))
	}
	return m
}

// storesShare is the part of the memory of the process that stores may take, as a divisor. The rest is for
// encoded objects, connections, responses and garbage.
const storesShare = 2

// storesMemory returns the limit of all stores together: the configured one, or if that is 0 a part of
// the memory of the process.
func storesMemory(configured, process int64) int64 {
	if configured != 0 {
		return configured
	}
	return process / storesShare
}

// usable returns how much of a machine's memory stores, encoded objects and callers may take: an eighth stays free for garbage.
func usable(m machineLimits) int64 { return m.memory * 7 / 8 }

const (
	// minEncodedPart divides the configured limit of encoded objects: they may always take that part.
	minEncodedPart = 8
	// minCallersPart divides the memory of which callers may take so much, whatever stores take.
	minCallersPart = 4
)

// divide returns the memory of encoded objects, at most the configured limit, and of callers: the rest beside stores. Objects
// can be encoded anew, and callers could only be refused.
func divide(m machineLimits, configured, stores, held int64) (encoded, callers int64) {
	encoded = max(configured/minEncodedPart, min(configured, usable(m)-stores-held-held/8))
	return encoded, max(m.memory/minCallersPart, usable(m)-stores-encoded)
}

// followMemory divides the memory among callers and encoded objects, beside stores, until ctx ends.
func (c *components) followMemory(ctx context.Context) error {
	wait.UntilWithContext(ctx, func(context.Context) {
		objects, history := c.resources.Memory()
		users := c.memory.Users.Usage()
		encoded, _ := divide(c.machine, *c.reloader.running.Load().Cache.EncodedBytes, objects+history, users.Held)
		c.encoded.SetLimit(encoded - c.shrink.Load())
		_, callers := divide(c.machine, c.encoded.Used(), objects+history, 0)
		c.memory.Users.SetTotal(callers - c.memory.Unauthenticated.Usage().Total)
	}, memoryEvery)
	return nil
}

// guardMemory keeps the process within its memory, until ctx ends.
func (c *components) guardMemory(ctx context.Context) error {
	c.valve.Run(ctx, limits.Guarded{
		Ledgers: []*limits.Ledger{c.memory.Unauthenticated, c.memory.Users},
		Shrink: func(bytes int64) {
			if c.shrink.Swap(bytes) < bytes {
				c.encoded.SetLimit(max(0, c.encoded.Used()-bytes))
			}
		},
	})
	return nil
}
