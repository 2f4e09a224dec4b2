package conformance

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"slices"
	"sync"
	"time"

	"golang.org/x/sync/errgroup"
)

// atOnce is how many rows are checked at the same time.
const atOnce = 8

// Options says what to check.
type Options struct {
	Target  *Client
	Against *Client // the endpoint to compare with; may be nil
	// Namespace is where a user reads who may not read in all namespaces.
	Namespace string
	// Resources and Rows are the names of those to check; empty means a choice, and all.
	Resources, Rows []string
	// Idle is how long a watch without events must stay open.
	Idle time.Duration
	// Patience is how long to wait for what must come at once.
	Patience time.Duration
}

// probe checks one row at one endpoint.
type probe struct {
	Options
	client *Client
	on     *resource

	mu    sync.Mutex
	asked []Exchange
}

// Run checks the rows and returns a result for each row and resource.
func Run(ctx context.Context, o Options) ([]Result, error) {
	resources, err := (&probe{Options: o, client: o.Target}).choose(ctx)
	if err != nil {
		return nil, err
	}
	var results []*Result
	var group errgroup.Group
	group.SetLimit(atOnce)
	for _, row := range Rows() {
		if len(o.Rows) > 0 && !slices.Contains(o.Rows, row.Name) || row.two && o.Against == nil {
			continue
		}
		on := resources
		if !row.each {
			on = []*resource{row.best(resources)}
		}
		for _, r := range on {
			result := &Result{Row: row.Name, Resource: r.name(), Law: row.Law, once: !row.each, needs: row.needs}
			results = append(results, result)
			group.Go(func() error {
				o.check(ctx, row, r, result)
				return ctx.Err()
			})
		}
	}
	if len(results) == 0 {
		return nil, fmt.Errorf("no row is named %q", o.Rows)
	}
	err = group.Wait()
	return follow(results), err
}

// best returns the resource with which to check a row that is checked once.
func (row Row) best(resources []*resource) *resource {
	return slices.MaxFunc(resources, func(a, b *resource) int { return row.worth(a) - row.worth(b) })
}

// worth is how much of a row a resource shows: compression needs a long list, pages two objects.
func (row Row) worth(r *resource) int {
	switch objects := min(2, len(r.page.Items)); {
	case row.Name == "compression":
		return r.size
	case r.builtIn():
		return 2 * objects
	default:
		return objects
	}
}

// check checks a row at both endpoints.
func (o Options) check(ctx context.Context, row Row, on *resource, into *Result) {
	if on.err != nil && row.Name != "list" {
		into.Verdict, into.Came = Skipped, "it cannot be listed"
		return
	}
	ctx, cancel := context.WithTimeout(ctx, o.Idle+4*o.Patience)
	defer cancel()
	if o.Against == nil || row.two {
		(&probe{Options: o, client: o.Target, on: on}).check(ctx, row, into)
		return
	}
	there := Result{}
	var both sync.WaitGroup
	both.Go(func() { (&probe{Options: o, client: o.Against, on: on}).check(ctx, row, &there) })
	(&probe{Options: o, client: o.Target, on: on}).check(ctx, row, into)
	both.Wait()
	into.compare(there)
}

// check checks a row at one endpoint.
func (p *probe) check(ctx context.Context, row Row, into *Result) {
	came, err := row.check(ctx, p)
	p.mu.Lock()
	defer p.mu.Unlock()
	into.Verdict, into.Came, into.Asked = OK, came, p.asked
	if err == nil {
		return
	}
	into.Verdict, into.Came, into.Breaks = Broken, err.Error(), row.Breaks
	why := refused(err)
	forbidden := why.code == http.StatusForbidden || why.code == http.StatusUnauthorized
	unsupported := why.code == http.StatusBadRequest && !p.on.builtIn() // an extension server may lack field selectors
	switch {
	case errors.As(err, new(costly)):
		into.Verdict = Costs
	case errors.As(err, new(skipped)), why.status.Kind != "" && (forbidden || unsupported):
		into.Verdict, into.Breaks = Skipped, ""
	}
}
