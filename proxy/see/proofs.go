package see

import (
	"cmp"
	"slices"
	"strings"

	dto "github.com/prometheus/client_model/go"

	"sluice/cache/fence"
)

// Proofs is how the cache of one resource is proven to be up to date.
type Proofs struct {
	Last          string              `json:"last"`        // what proved the last read; empty before the first
	LastSeconds   *float64            `json:"lastSeconds"` // since then
	TookSeconds   *float64            `json:"tookSeconds"` // that this read waited for it
	Reads         map[fence.Proof]int `json:"reads"`
	Probes        int                 `json:"probes"`
	RollCalls     int                 `json:"rollCalls"`
	SecondWatches int                 `json:"secondWatches"`
	Forwarded     int                 `json:"forwarded"`        // reads that cost the apiserver less than a proof
	CPUSeconds    float64             `json:"apiserverSeconds"` // of all of these
	Doubts        []string            `json:"doubts"`           // what keeps proofs away now

	inVain bool // a read has waited in vain, and nothing has proven the cache since
}

// ProofKind is how one kind of proof served the reads of all resources.
type ProofKind struct {
	Proof string   `json:"proof"`
	Reads float64  `json:"reads"`
	P50   *float64 `json:"p50Seconds"` // null if no read has waited
	P99   *float64 `json:"p99Seconds"`
}

// proofs adds what fences know to their resources.
func (s *Sampler) proofs(f *Facts, r reading) {
	waited := map[string]*dto.Histogram{}
	for _, m := range r["sluice_proof_duration_seconds"].GetMetric() {
		waited[m.GetLabel()[0].GetValue()] = m.GetHistogram()
	}
	r.each("sluice_fence_proofs_total", func(l labels, v float64) {
		h := waited[l.of("proof")]
		f.Proofs = append(f.Proofs, ProofKind{l.of("proof"), v, quantile(h, 0.5), quantile(h, 0.99)})
	})
	for _, m := range r["sluice_served_staleness_seconds"].GetMetric() {
		if h := m.GetHistogram(); h.GetSampleCount() > 0 {
			age := ProofKind{m.GetLabel()[0].GetValue(), float64(h.GetSampleCount()), quantile(h, 0.5), quantile(h, 0.99)}
			f.Ages = append(f.Ages, age)
		}
	}
	if s.options.Fences == nil {
		return
	}
	s.options.Fences(func(name string, known fence.Report) {
		i, found := slices.BinarySearchFunc(f.Resources, name, func(r Resource, name string) int { return strings.Compare(r.Name, name) })
		if !found {
			return // it has come since the metrics were gathered
		}
		p := &Proofs{
			Last: string(known.Last.Proof), Reads: known.Proven, Probes: known.Probes, RollCalls: known.Inventories,
			SecondWatches: known.SecondWatches, Forwarded: known.Forwarded, CPUSeconds: known.Seconds + known.Uncharged,
			Doubts: doubts(&known.Facts), inVain: known.Facts.Stalled,
		}
		if p.Last != "" {
			p.LastSeconds, p.TookSeconds = new(max(0, f.At.Sub(known.Last.At).Seconds())), new(known.Last.Took.Seconds())
		}
		f.Resources[i].Proofs = p
	})
}

// doubts says what keeps a fence from proving its store now.
func doubts(f *fence.Facts) (all []string) {
	for _, d := range []struct {
		holds bool
		text  string
	}{
		{f.Provisional, "its CRD has changed: nothing proves it until it is filled again"},
		{f.Doubtful, "its watch is away: only a roll call proves it"},
		{f.Pending, "it lacks events that the last roll call has shown"},
		{f.Stalled, "a read has waited in vain: others do not wait until a proof succeeds"},
		{f.Failed, "the last roll call has failed"},
		{f.Owed > 0, "proofs have used up cache.proofs for " + seconds(f.Owed.Seconds())},
	} {
		if d.holds {
			all = append(all, d.text)
		}
	}
	return all
}

// quantile returns the duration within which a part of the reads was proven, by the buckets of a histogram: between two
// bounds it is interpolated, and beyond the last one that one is returned.
func quantile(h *dto.Histogram, part float64) *float64 {
	rank, below, from := part*float64(h.GetSampleCount()), 0.0, 0.0
	if rank == 0 {
		return nil
	}
	for _, b := range h.GetBucket() {
		to, upTo := b.GetUpperBound(), float64(b.GetCumulativeCount())
		if upTo >= rank {
			return new(from + (to-from)*(rank-below)/(upTo-below))
		}
		below, from = upTo, to
	}
	return &from
}

// kinds adds what is known of each kind of proof, under a name.
func (t values) kinds(name string, kinds []ProofKind) {
	for _, k := range kinds {
		t[k.Proof+name+"/reads"] = count(k.Reads)
		t[k.Proof+name+"/p50"], t[k.Proof+name+"/p99"] = optional(k.P50, seconds), optional(k.P99, seconds)
	}
}

func (t values) proofs(shown []Resource) {
	for i := range shown {
		r, p := &shown[i], shown[i].Proofs
		if p == nil {
			p = &Proofs{Doubts: []string{"it is not in sync"}}
		}
		for column, text := range map[string]string{
			"doubts": cmp.Or(strings.Join(p.Doubts, "; "), "nothing"), "proven": optional(r.ProvenSeconds, seconds),
			"last": cmp.Or(p.Last, "none yet"), "ago": optional(p.LastSeconds, seconds), "took": optional(p.TookSeconds, seconds),
			"passed": count(float64(p.Forwarded)), "cpu": seconds(p.CPUSeconds),
			"probes": count(float64(p.Probes)), "rollcalls": count(float64(p.RollCalls)), "secondwatches": count(float64(p.SecondWatches)),
		} {
			t[r.Name+"/"+column] = text
		}
		for _, k := range []fence.Proof{fence.UpToDate, fence.ByOwnWatch, fence.ByInventory, fence.BySecondWatch} {
			t[r.Name+"/"+string(k)] = count(float64(p.Reads[k]))
		}
	}
}
