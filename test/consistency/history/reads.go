package history

import (
	"cmp"
	"fmt"
	"slices"
)

// reads judges all lists.
func (c *checker) reads() {
	byVersion := make([]*Read, 0, len(c.history.Reads))
	for i := range c.history.Reads {
		r := &c.history.Reads[i]
		byVersion = append(byVersion, r)
		c.promise(r)
		if len(r.Pages) > 0 {
			c.onePlace(r)
		}
	}
	c.timeTravel()
	// In this order the log is replayed only once.
	slices.SortStableFunc(byVersion, func(a, b *Read) int { return cmp.Compare(a.version(), b.version()) })
	s := c.history.Log.begin()
	for _, r := range byVersion {
		s.to(r.version())
		c.content(r, s.objects)
	}
}

func (c *checker) reportRead(kind Kind, r *Read, text string, more ...string) {
	excerpt := append([]string{r.String()}, more...)
	c.report(kind, r.Ended, text, append(excerpt, c.around(r.Began, r.Ended, r.version())...))
}

// promise checks the version of a read against what it asked for and against
// time.
func (c *checker) promise(r *Read) {
	version := r.version()
	switch p := r.Promise; {
	case p.Fresh:
		if floor := c.order.floor(r.Began); floor.version > version {
			c.reportRead(Stale, r, fmt.Sprintf("the list is at %d, but %d was told before it began", version, floor.version), floor.by.String())
		}
	case p.Exact > 0 && version != p.Exact, version < p.AtLeast:
		c.reportRead(Version, r, fmt.Sprintf("the list is at %d, asked for was %s", version, p))
	}
	if lowest, write := c.order.ceiling(r.Ended); lowest <= version {
		c.reportRead(Future, r, fmt.Sprintf("the list is at %d, but %d did not yet exist", version, lowest), write.String())
	}
}

// timeTravel checks that no client's consistent reads go back. A client does
// one thing after the other.
func (c *checker) timeTravel() {
	fresh := make([]*Read, 0, len(c.history.Reads))
	for i := range c.history.Reads {
		if r := &c.history.Reads[i]; r.Promise.Fresh {
			fresh = append(fresh, r)
		}
	}
	slices.SortFunc(fresh, func(a, b *Read) int { return cmp.Compare(a.Began, b.Began) })
	highest := map[string]*Read{}
	for _, r := range fresh {
		before := highest[r.Client]
		if before != nil && before.Ended < r.Began && before.version() > r.version() {
			c.reportRead(TimeTravel, r, fmt.Sprintf("the list is at %d, the client's before it was at %d", r.version(), before.version()), before.String())
			continue
		}
		highest[r.Client] = r
	}
}

// content checks that a read shows the state at its version, which is given.
func (c *checker) content(r *Read, objects map[string]*Object) {
	match, err := r.Scope.Match()
	if err != nil {
		c.reportRead(Broken, r, err.Error())
		return
	}
	shown := c.shown(r)
	var missing, extra, wrong []string
	count := 0
	for _, o := range sorted(objects) {
		if !match(o) {
			continue
		}
		count++
		switch got := shown[o.Key]; {
		case got == nil:
			missing = append(missing, o.String())
		case !got.equal(o):
			wrong = append(wrong, fmt.Sprintf("listed: %s; was: %s", got.full(), o.full()))
		}
	}
	for _, o := range sorted(shown) {
		if !match(objects[o.Key]) {
			extra = append(extra, o.String())
		}
	}
	c.differences(r, Missing, missing)
	c.differences(r, Extra, extra)
	c.differences(r, Content, wrong)
	c.remaining(r, count)
}

// mostDifferences bounds what is printed of a list that is all wrong.
const mostDifferences = 3

func (c *checker) differences(r *Read, kind Kind, which []string) {
	if len(which) > 0 {
		c.reportRead(kind, r, fmt.Sprintf("%d in a list at %d", len(which), r.version()), which[:min(len(which), mostDifferences)]...)
	}
}

// shown is what the read holds, by key.
func (c *checker) shown(r *Read) map[string]*Object {
	if len(r.Stream) > 0 {
		return c.fold(r)
	}
	shown := map[string]*Object{}
	for _, p := range r.Pages {
		for _, o := range p.Items {
			shown[o.Key] = o
		}
	}
	return shown
}
