package see

import (
	"time"

	"sluice/proxy/fault"
)

// Facts is the state of a Sluice at one moment. It is immutable.
type Facts struct {
	At             time.Time  `json:"at"`
	Version        string     `json:"version"`
	UpSeconds      float64    `json:"upSeconds"`
	Stopping       bool       `json:"stopping"`
	Upstream       Upstream   `json:"upstream"`
	Reads          Reads      `json:"reads"`
	Resources      []Resource `json:"resources"`
	Others         Reads      `json:"others"` // of resources that are not cached
	Saved          Saved      `json:"saved"`
	Limits         []Limit    `json:"limits"`
	Requests       float64    `json:"requests"`         // finished since the start
	RefusedPerSec  float64    `json:"refusedPerSecond"` // of authenticated callers, by limits, in half a minute
	DeniedPerSec   float64    `json:"deniedPerSecond"`  // 401, 403 and 429 of the apiserver, in five minutes
	ReviewsFailed  float64    `json:"reviewsFailed"`    // in the last minute
	AuditLost      float64    `json:"auditLost"`        // events in the last 10 minutes
	ConfigOutdated bool       `json:"configOutdated"`   // Sluice runs by an older file
	ClockSeconds   float64    `json:"clockSeconds"`     // by which the apiserver's clock is ahead
	IdleSeconds    float64    `json:"idleSeconds"`      // since a request has finished
	CPUCores       *float64   `json:"cpuCores"`         // null until it is known
	MemoryBytes    float64    `json:"memoryBytes"`      // of the process
	Watches        float64    `json:"watches"`          // from the cache
	PassedWatches  float64    `json:"passedWatches"`    // that the cache should serve
	AllPassed      float64    `json:"allPassedWatches"` // for whatever reason
	PassedBecause  string     `json:"passedBecause"`    // the most frequent reason
}

// Upstream is the connection to the apiserver.
type Upstream struct {
	Address string `json:"address"`
	Probed  bool   `json:"probed"` // the first check has ended
	Error   string `json:"error"`  // of the last check
	// Fault is the cause of the error.
	Fault fault.Fault `json:"-"`
	// FailingSeconds is how long the checks have failed.
	FailingSeconds float64 `json:"failingSeconds"`
}

// Reads is how successful gets, lists and watches were answered in the last five minutes.
type Reads struct {
	ServedPerSec float64 `json:"servedPerSecond"`
	PassedPerSec float64 `json:"passedPerSecond"`
	// ListsPassed and WatchesPassed are parts of 1 of those that end, without small reads; null without any.
	ListsPassed *float64 `json:"listsPassed"`
}

// Saved is the work that the apiserver is spared, in the last five minutes. Its CPU time is an estimate by list prices: a lower
// bound of the savings, and an upper bound of the work for Sluice: proofs, small reads that pass instead of one, events, reviews.
type Saved struct {
	BytesPerSec    float64 `json:"bytesPerSecond"` // of responses from the cache, before compression
	AllBytesPerSec float64 `json:"allBytesPerSecond"`
	Cores          float64 `json:"cpuCores"`
	SpentCores     float64 `json:"spentCores"`
	Prices         string  `json:"prices"`
}

// Resource is one cached resource.
type Resource struct {
	Name            string   `json:"resource"` // pods.v1, deployments.v1.apps
	Synced          bool     `json:"synced"`
	Forbidden       bool     `json:"forbidden"` // to Sluice, and not in sync
	Connected       bool     `json:"connected"`
	UnsyncedSeconds float64  `json:"unsyncedSeconds"` // since it was not in sync
	LostSeconds     float64  `json:"lostSeconds"`     // since its watch was closed
	Objects         float64  `json:"objects"`
	Bytes           float64  `json:"bytes"`
	HistoryBytes    float64  `json:"historyBytes"`
	Version         float64  `json:"resourceVersion"`
	HeardSeconds    *float64 `json:"heardSeconds"`  // null while not in sync
	ProvenSeconds   *float64 `json:"provenSeconds"` // the same
	Watches         float64  `json:"watches"`
	PassedWatches   float64  `json:"passedWatches"` // that the cache should serve
	Mismatches      float64  `json:"mismatches"`
	Reads           Reads    `json:"reads"`
	// MismatchedSeconds is how long ago the store was found to differ; null if it was not within an hour.
	MismatchedSeconds *float64 `json:"mismatchedSeconds"`
	// Passed is how many reads have passed since the start, by reason.
	Passed map[string]float64 `json:"passed"`
	// Stalled reports that a read has waited for a proof in vain, and none has succeeded since.
	Stalled bool `json:"stalled"`
}

// Limit is something that is scarce.
type Limit struct {
	Name    string   `json:"name"`
	Unit    string   `json:"unit"`
	Used    float64  `json:"used"`
	Total   float64  `json:"total"`   // 0 if there is no limit
	Largest *float64 `json:"largest"` // of the account with the most; null without accounts
	By      string   `json:"by"`      // whose that is; empty where names are not shown
	Refused *float64 `json:"refused"` // the same
	Cache   bool     `json:"cache"`   // full on purpose
	SetBy   string   `json:"setBy"`   // the option, or the cause of the total
}

// Full returns the part of 1 that is used.
func (l Limit) Full() float64 {
	if l.Total <= 0 {
		return 0
	}
	return l.Used / l.Total
}
