package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"slices"
	"time"

	"golang.org/x/sync/errgroup"

	"sluice/test/abuse"
	"sluice/test/harness"
)

const (
	attackCommand = "attack" // the argument that makes this program the attackers' child process
	// attackLimit is how long an attack lasts at most.
	attackLimit = 35 * time.Second
	// attackWarmUp precedes what victims see of an attack, and attackWindow is how long their requests start.
	attackWarmUp, attackWindow = 4 * time.Second, 14 * time.Second
	quietWindow                = 5 * time.Second
)

// attacks measures what victims see of each attack, at the apiserver and at a new Sluice with default limits each.
func (w *world) attacks(ctx context.Context, r *report) error {
	all := slices.DeleteFunc(abuse.Attacks(), func(a abuse.Attack) bool { return !w.only.matches("attack " + a.Name) })
	if len(all) == 0 {
		return nil
	}
	ids, err := w.identify(ctx)
	if err != nil {
		return err
	}
	if w.turns > 0 {
		return w.attackInTurns(ctx, all, ids, r)
	}
	for _, a := range all {
		if !a.Admin {
			if err := w.attackAt(ctx, &a, w.direct(harness.Anonymous), ids, r); err != nil {
				return fmt.Errorf("%s at the apiserver: %w", a.Name, err)
			}
		}
		err := w.withCachedPods(ctx, harness.SluiceOptions{}, func(t *target) error { return w.attackAt(ctx, &a, t, ids, r) })
		if err != nil {
			return fmt.Errorf("%s: %w", a.Name, err)
		}
	}
	return nil
}

// attackInTurns measures all attacks at one Sluice, again and again. It fails if Sluice ends meanwhile.
func (w *world) attackInTurns(ctx context.Context, all []abuse.Attack, ids *identities, r *report) error {
	return w.withCachedPods(ctx, harness.SluiceOptions{Memory: w.memory}, func(t *target) error {
		for end := time.Now().Add(w.turns); time.Now().Before(end); {
			for _, a := range all {
				if err := w.attackAt(ctx, &a, t, ids, r); err != nil {
					return fmt.Errorf("%s: %w", a.Name, err)
				}
				select {
				case <-t.sluice.Done():
					return fmt.Errorf("sluice has ended under the attack %s\n%s", a.Name, t.sluice.Log())
				default:
				}
			}
		}
		return nil
	})
}

// attackAt measures one attack at a target. While a Sluice is attacked the victims also ask the apiserver itself.
func (w *world) attackAt(ctx context.Context, a *abuse.Attack, t *target, ids *identities, r *report) (err error) {
	defer fails(&err)
	progress("attack %s at the %s", a.Name, t.name)
	check(errors.Join(pin(true, self(), w.apiserver.proc, t.proc), pin(false, t.proc)))
	victims := must(w.victimsOf(a, t, ids))
	var beside []victim
	if t.sluice != nil && !a.Admin {
		beside = must(w.victimsOf(a, w.direct(harness.Anonymous), ids))
	}
	before := must(t.proc.resident())
	quiet := watchAll(ctx, victims, quietWindow)
	check(t.proc.resetPeak())
	c := must(w.startAttack(a, t, ids))
	_ = sleep(ctx, attackWarmUp)
	during := watchAll(ctx, slices.Concat(victims, beside), attackWindow)
	peak, err := t.proc.peak()
	var answers abuse.Tally
	check(errors.Join(err, c.stop(&answers), ctx.Err()))
	for i, v := range victims {
		row := newRow(attackTable, a.What)
		row.What, row.Target = v.name, t.name
		quiet[i].RSS, during[i].Peak = before, peak
		row.By[quietly], row.By[attacked], row.By[attackCommand] = quiet[i], during[i], &figures{Counts: tallyOf(answers)}
		if beside != nil {
			row.By[meanwhile] = during[len(victims)+i]
		}
		r.addAttack(row)
	}
	return nil
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

// tallyOf returns the counts of attackers.
func tallyOf(answers abuse.Tally) tally {
	t := tally{}
	for answer, n := range answers {
		t[answer] = float64(n)
	}
	return t
}

// watchAll watches victims at the same time.
func watchAll(ctx context.Context, victims []victim, during time.Duration) []*figures {
	figures := make([]*figures, len(victims))
	var g errgroup.Group
	for i, v := range victims {
		g.Go(func() error {
			figures[i] = v.watch(ctx, during)
			return nil
		})
	}
	_ = g.Wait()
	return figures
}

// attackOrder is what the attackers' process reads from stdin.
type attackOrder struct {
	Name   string
	Target abuse.Target
	Tokens []string
}

// startAttack runs this program again as the attackers.
func (w *world) startAttack(a *abuse.Attack, t *target, ids *identities) (*child, error) {
	goal, err := abuseTarget(t)
	if err != nil {
		return nil, err
	}
	return startChild(attackCommand, attackOrder{a.Name, *goal, ids.attackers(a.By)})
}

// abuseTarget describes a target to attackers.
func abuseTarget(t *target) (*abuse.Target, error) {
	to := &abuse.Target{URL: t.config.Host, CA: t.config.CAData}
	if t.sluice != nil {
		to.Admin = t.sluice.Admin
	}
	if len(to.CA) > 0 {
		return to, nil
	}
	var err error
	to.CA, err = os.ReadFile(t.config.CAFile)
	return to, err
}

// runAttack runs in the child process and attacks until stdin ends.
func runAttack(ctx context.Context, stdin io.Reader, out io.Writer) error {
	var order attackOrder
	ctx, cancel, err := takeOrder(ctx, stdin, &order)
	if err != nil {
		return err
	}
	defer cancel()
	ctx, end := context.WithTimeout(ctx, attackLimit)
	defer end()
	all := abuse.Attacks()
	i := slices.IndexFunc(all, func(a abuse.Attack) bool { return a.Name == order.Name })
	if i < 0 {
		return fmt.Errorf("no attack %q", order.Name)
	}
	answers, err := all[i].Attack(ctx, &order.Target, order.Tokens)
	return errors.Join(err, json.NewEncoder(out).Encode(answers))
}
