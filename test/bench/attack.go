package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"slices"
	"sync"
	"time"

	"sluice/test/abuse"
	"sluice/test/harness"
)

const (
	attackCommand = "attack" // the argument that makes this program the attackers' child process
	// attackWarmUp precedes what victims see of an attack, and attackWindow is how long their requests start.
	attackWarmUp, attackWindow = 4 * time.Second, 14 * time.Second
	quietWindow                = 5 * time.Second
)

// attacks measures what victims see of each attack, at the apiserver and at a new Sluice with default limits each.
func (w *world) attacks(ctx context.Context, r *report) {
	all := slices.DeleteFunc(abuse.Attacks(), func(a abuse.Attack) bool { return !w.only.MatchString("attack " + a.Name) })
	if len(all) == 0 {
		return
	}
	ids := w.identify(ctx)
	if w.turns > 0 {
		w.attackInTurns(ctx, all, ids, r)
		return
	}
	for _, a := range all {
		if !a.Admin {
			w.attackAt(ctx, &a, w.direct(harness.Anonymous), ids, r)
		}
		w.withCachedPods(ctx, harness.SluiceOptions{}, func(t *target) { w.attackAt(ctx, &a, t, ids, r) })
	}
}

// limitedMemory is the memory that a cgroup leaves a Sluice.
const limitedMemory = 1 << 30

// attackInTurns measures all attacks at one Sluice, again and again. It fails if Sluice ends meanwhile.
func (w *world) attackInTurns(ctx context.Context, all []abuse.Attack, ids *identities, r *report) {
	w.withCachedPods(ctx, harness.SluiceOptions{Memory: limitedMemory}, func(t *target) {
		for end := time.Now().Add(w.turns); time.Now().Before(end); {
			for _, a := range all {
				w.attackAt(ctx, &a, t, ids, r)
				select {
				case <-t.sluice.Done():
					check(fmt.Errorf("sluice has ended under the attack %s\n%s", a.Name, t.sluice.Log()))
				default:
				}
			}
		}
	})
}

// attackAt measures one attack at a target. While a Sluice is attacked the victims also ask the apiserver itself.
func (w *world) attackAt(ctx context.Context, a *abuse.Attack, t *target, ids *identities, r *report) {
	progress("attack %s at the %s", a.Name, t.name)
	w.isolate(t)
	victims := w.victimsOf(a, t, ids)
	var beside []victim
	if t.sluice != nil && !a.Admin {
		beside = w.victimsOf(a, w.direct(harness.Anonymous), ids)
	}
	before := t.proc.resident()
	quiet := watchAll(ctx, victims, quietWindow)
	t.proc.resetPeak()
	end := startAttack(a, t, ids.attackers(a.By))
	slept(ctx, attackWarmUp)
	during := watchAll(ctx, slices.Concat(victims, beside), attackWindow)
	answers := end()
	check(ctx.Err())
	peak := t.proc.peak()
	for i, v := range victims {
		row := newRow(attackTable, a.What)
		row.What, row.Target = v.name, t.name
		quiet[i].RSS, during[i].Peak = before, peak
		row.By[quietly], row.By[attacked], row.By[attackCommand] = quiet[i], during[i], &figures{Counts: answers}
		if beside != nil {
			row.By[meanwhile] = during[len(victims)+i]
		}
		r.addAttack(row)
	}
}

// addAttack adds a row to the report, or its figures to those of the same victim at another time.
func (r *report) addAttack(row *row) {
	for _, of := range r.rows(attackTable) {
		if of.Case != row.Case || of.Target != row.Target || of.What != row.What {
			continue
		}
		for name, f := range row.By {
			of.By[name].add(f)
			of.By[name].Peak = max(of.By[name].Peak, f.Peak)
		}
		return
	}
	r.add(row)
}

// watchAll watches victims at the same time.
func watchAll(ctx context.Context, victims []victim, during time.Duration) []*figures {
	all := make([]*figures, len(victims))
	var running sync.WaitGroup
	for i, v := range victims {
		running.Go(func() { all[i] = v.watch(ctx, during) })
	}
	running.Wait()
	return all
}

// abuseTarget describes a target to attackers.
func abuseTarget(t *target) *abuse.Target {
	to := &abuse.Target{URL: t.config.Host, CA: t.config.CAData}
	if t.sluice != nil {
		to.Admin = t.sluice.Admin
	}
	if len(to.CA) == 0 {
		to.CA = must(os.ReadFile(t.config.CAFile))
	}
	return to
}

// attackOrder is what the attackers' process reads from stdin.
type attackOrder struct {
	Name   string
	Target *abuse.Target
	Tokens []string
}

// startAttack attacks from a child process until the returned function is called, which returns how it was answered.
func startAttack(a *abuse.Attack, t *target, tokens []string) (end func() tally) {
	c := startChild(attackCommand)
	if err := json.NewEncoder(c.stdin).Encode(attackOrder{a.Name, abuseTarget(t), tokens}); err != nil {
		check(errors.Join(err, c.stop()))
	}
	return func() (answers tally) {
		_ = c.stdin.Close()
		err := json.NewDecoder(c.out).Decode(&answers)
		check(errors.Join(err, c.stop()))
		return answers
	}
}

// runAttack runs in the child process.
func runAttack(ctx context.Context, _ []string, stdin io.Reader, out io.Writer) {
	var order attackOrder
	in := json.NewDecoder(stdin)
	check(in.Decode(&order))
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	go func() {
		defer cancel()
		_, _ = io.Copy(io.Discard, io.MultiReader(in.Buffered(), stdin))
	}()
	all := append(abuse.Attacks(), abuser)
	i := slices.IndexFunc(all, func(a abuse.Attack) bool { return a.Name == order.Name })
	if i < 0 {
		check(fmt.Errorf("no attack %q", order.Name))
	}
	answers, err := all[i].Attack(ctx, order.Target, order.Tokens)
	check(errors.Join(err, json.NewEncoder(out).Encode(answers)))
}
