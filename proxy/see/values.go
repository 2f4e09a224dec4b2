package see

import (
	"cmp"
	"fmt"
)

// values are the texts of a page that change, by their keys. The text of a sparkline's points has the key ~NAME, and
// its description =NAME; the target of a link has the key @NAME, and the value of a meter %NAME.
type values map[string]string

func newValues(f *Facts, v Verdict) values {
	t := values{
		"state": v.State, "mark": v.Mark(), "sentence": v.Sentence, "do": v.Do, "runbook": "", "@runbook": "",
		"up": seconds(f.UpSeconds), "cpu": optional(f.CPUCores, cores), "memory": size(f.MemoryBytes),
		"watches": count(f.Watches), "passedwatches": count(f.PassedWatches), "allpassedwatches": count(f.AllPassed), "requests": count(f.Requests),
		"upstream": "answers", "refused": number(f.RefusedPerSec),
	}
	t["saved/cpu"], t["saved/spent"] = bound("at least ", f.Saved.Cores), bound("at most ", f.Saved.SpentCores)
	t["saved/bytes"] = size(f.Saved.BytesPerSec) + "/s of " + size(f.Saved.AllBytesPerSec) + "/s"
	if v.Runbook != "" {
		t["runbook"], t["@runbook"] = "Runbook: "+runbook(v.Runbook), guide(runbook(v.Runbook))
	}
	switch {
	case !f.Upstream.Probed:
		t["upstream"] = "not asked yet"
	case f.Upstream.Error != "":
		t["upstream"] = f.Upstream.Fault.State + " for " + seconds(f.Upstream.FailingSeconds)
	}
	t.reads("all", f.Reads)
	t.reads("others", f.Others)
	return t
}

// bound formats a bound of CPU time, which one that is nearly nothing does not need.
func bound(kind string, v float64) string {
	if v < 0.0005 {
		return cores(v)
	}
	return kind + cores(v)
}

func (t values) reads(key string, r Reads) {
	t[key+"/served/s"], t[key+"/passed/s"] = number(r.ServedPerSec), number(r.PassedPerSec)
	t[key+"/reads"], t[key+"/served"] = number(r.ServedPerSec+r.PassedPerSec), "–"
	if part, ok := r.Served(); ok {
		t[key+"/served"] = percent(part)
	}
	t["~"+key], t["="+key] = r.Series.Points(), r.Series.Label()
}

func (t values) resource(r *Resource, away bool) {
	t.reads(r.Name, r.Reads)
	state := "served"
	switch {
	case !r.Synced:
		state = "filling for " + seconds(r.UnsyncedSeconds)
	case stalled(r):
		state = "stalled"
	}
	if away && r.Synced {
		state = "any version only"
	}
	for column, text := range map[string]string{
		"state": state, "objects": count(r.Objects), "memory": size(r.Bytes), "history": size(r.HistoryBytes),
		"version": fmt.Sprintf("%.0f", r.Version), "heard": optional(r.HeardSeconds, seconds), "proven": optional(r.ProvenSeconds, seconds),
		"watches": count(r.Watches), "passedwatches": count(r.PassedWatches), "mismatches": count(r.Mismatches),
	} {
		t[r.Name+"/"+column] = text
	}
	for reason, n := range r.Passed {
		t[r.Name+"/passed/"+reason] = count(n)
	}
}

func (t values) limit(l Limit) {
	format := count
	if l.Unit == "bytes" {
		format = size
	}
	total, full := "no limit", "–"
	if l.Total > 0 {
		total, full = format(l.Total), percent(l.Full())
		t["%"+l.Name] = fmt.Sprint(l.Full())
	}
	for column, text := range map[string]string{
		"used": format(l.Used), "total": total, "full": full,
		"largest": optional(l.Largest, format), "refused": optional(l.Refused, count), "by": cmp.Or(l.By, "–"),
	} {
		t[l.Name+"/"+column] = text
	}
}
