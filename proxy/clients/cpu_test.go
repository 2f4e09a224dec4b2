package clients

import (
	"math"
	"testing"
	"time"
)

// spent returns what each user has spent, and all of them with everything else and Sluice itself, in seconds.
func spent(l *ClientList) (of map[string]float64, all float64) {
	of, all = map[string]float64{}, l.Rest.CPU+l.OwnCPU
	for _, r := range l.Items {
		of[r.User] += r.CPU
		all += r.CPU
	}
	return of, all
}

func TestClientsAndSluiceItselfSpendWhatTheProcessUses(t *testing.T) {
	table := NewTable()
	table.settle(2 * time.Second) // nobody has asked for anything
	if _, all := spent(table.List(true)); math.Abs(all-2) > 1e-6 || table.List(true).OwnCPU != all {
		t.Errorf("%v s without clients, want 2", all)
	}
	for range 10 {
		table.Add(pods("plain", "client"))
		small := pods("compressed", "client")
		small.Sent, small.Compressed = 4_240_000, true
		table.Add(small)
	}
	table.settle(time.Second)
	of, all := spent(table.List(true))
	if math.Abs(all-3) > 1e-6 || math.Abs(of["plain"]+of["compressed"]-1) > 1e-6 {
		t.Errorf("%v, all of it %v s; want 1 s of clients, and 3", of, all)
	}
	if times := of["plain"] / of["compressed"]; times < 8 || times > 12 {
		t.Errorf("75.7 MB cost %v times as much as 4.2 MB in gzip", times)
	}
	if r := table.List(true).Items[0].Recent; math.Abs(r.CPU*r.Seconds-of["plain"]) > 1e-3 {
		t.Errorf("lately %v cores for %v s, want %v s", r.CPU, r.Seconds, of["plain"])
	}
	get := pods("lone", "client")
	get.Sent = 0
	table.Add(get)
	table.settle(time.Minute) // for whatever Sluice does by itself
	if of, all = spent(table.List(true)); of["lone"] > 0.001 || math.Abs(all-63) > 1e-5 {
		t.Errorf("a get is to have taken %v s, all %v", of["lone"], all)
	}
}

// Rows that make room take their share with them.
func TestEverythingElseKeepsItsCPU(t *testing.T) {
	table := NewTable()
	for i := range 3 * rowsUnnamed {
		u := pods("", string(rune('a'+i)))
		table.Add(u)
		if i == 2*rowsUnnamed {
			table.settle(time.Second)
		}
	}
	table.settle(time.Second)
	l := table.List(true)
	if _, all := spent(l); math.Abs(all-2) > 1e-5 || l.Rest.CPU == 0 {
		t.Errorf("%v s, of which everything else has %v; want 2", all, l.Rest.CPU)
	}
}
