package history

import (
	"cmp"
	"fmt"
	"slices"
)

// reads checks all lists.
func (c *checker) reads() {
	byVersion := make([]*Read, 0, len(c.history.Reads))
	for i := range c.history.Reads {
		r := &c.history.Reads[i]
		byVersion = append(byVersion, r)
		c.consistency(r)
		if len(r.Pages) > 0 {
			c.pages(r)
		}
	}
	c.timeTravel()
	// In the order of versions, the log is replayed only once.
	slices.SortStableFunc(byVersion, func(a, b *Read) int { return cmp.Compare(a.version(), b.version()) })
	s := c.history.Log.replay()
	for _, r := range byVersion {
		s.advance(r.version())
		c.content(r, s.objects)
	}
}

func (c *checker) reportRead(kind Kind, r *Read, text string, more ...string) {
	excerpt := append([]string{r.String()}, more...)
	c.report(kind, r.Ended, text, append(excerpt, c.around(r.Began, r.Ended, r.version())...))
}

// consistency checks the version of a read against the consistency that it asked for, and against
// time.
func (c *checker) consistency(r *Read) {
	version := r.version()
	switch want := r.Consistency; {
	case want.MostRecent:
		if newest := c.order.newestBefore(r.Began); newest.version > version {
			c.reportRead(Stale, r, fmt.Sprintf("the list is at %d, but %d was observed before it began", version, newest.version), newest.source.String())
		}
	case want.Exact > 0 && version != want.Exact, version < want.NotOlderThan:
		c.reportRead(Version, r, fmt.Sprintf("the list is at %d, want %s", version, want))
	}
	if future := c.order.lowestWrittenAfter(r.Ended); future.version <= version {
		c.reportRead(Future, r, fmt.Sprintf("the list is at %d, but %d did not exist yet", version, future.version), future.source.String())
	}
}

// timeTravel checks that the consistent reads of one client never go back. A client sends one
// request after the other.
func (c *checker) timeTravel() {
	consistent := make([]*Read, 0, len(c.history.Reads))
	for i := range c.history.Reads {
		if r := &c.history.Reads[i]; r.Consistency.MostRecent {
			consistent = append(consistent, r)
		}
	}
	slices.SortFunc(consistent, func(a, b *Read) int { return cmp.Compare(a.Began, b.Began) })
	highest := map[string]*Read{}
	for _, r := range consistent {
		before := highest[r.Client]
		if before != nil && before.Ended < r.Began && before.version() > r.version() {
			c.reportRead(TimeTravel, r, fmt.Sprintf("the list is at %d, the client's list before it was at %d", r.version(), before.version()), before.String())
			continue
		}
		highest[r.Client] = r
	}
}

// content checks that a read returned the given state, which is the one at its version.
func (c *checker) content(r *Read, objects map[string]*Object) {
	match, err := r.Scope.Match()
	if err != nil {
		c.reportRead(InvalidHistory, r, err.Error())
		return
	}
	returned := c.returned(r)
	var missing, extra, wrong []string
	count := 0
	for _, o := range sorted(objects) {
		if !match(o) {
			continue
		}
		count++
		switch got := returned[o.Key]; {
		case got == nil:
			missing = append(missing, o.String())
		case !got.equal(o):
			wrong = append(wrong, fmt.Sprintf("got %s, want %s", got.full(), o.full()))
		}
	}
	for _, o := range sorted(returned) {
		if !match(objects[o.Key]) {
			extra = append(extra, o.String())
		}
	}
	c.differences(r, Missing, missing)
	c.differences(r, Extra, extra)
	c.differences(r, Content, wrong)
	c.remaining(r, count)
}

// maxDifferences bounds how many differences of one list are printed.
const maxDifferences = 3

func (c *checker) differences(r *Read, kind Kind, which []string) {
	if len(which) > 0 {
		c.reportRead(kind, r, fmt.Sprintf("%d in a list at %d", len(which), r.version()), which[:min(len(which), maxDifferences)]...)
	}
}

// returned returns the objects of a read by key.
func (c *checker) returned(r *Read) map[string]*Object {
	if len(r.Stream) > 0 {
		return c.fold(r)
	}
	objects := map[string]*Object{}
	for _, p := range r.Pages {
		for _, o := range p.Items {
			objects[o.Key] = o
		}
	}
	return objects
}
