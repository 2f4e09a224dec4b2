package history

import "fmt"

// onePlace checks what pages have to agree on, and what a list looks like
// whatever is in it: each object once, in the order of keys.
func (c *checker) onePlace(r *Read) {
	last := ""
	seen := map[string]bool{}
	for n, p := range r.Pages {
		if p.Version != r.version() {
			c.reportRead(PageState, r, fmt.Sprintf("page %d is at %d, the first at %d", n, p.Version, r.version()))
		}
		if p.Limit > 0 && len(p.Items) > p.Limit {
			c.reportRead(PageSize, r, fmt.Sprintf("page %d has %d objects, the limit is %d", n, len(p.Items), p.Limit))
		}
		for _, o := range p.Items {
			switch {
			case seen[o.Key]:
				c.reportRead(Duplicate, r, fmt.Sprintf("%s on page %d", o, n))
			case o.Key < last:
				c.reportRead(Disorder, r, fmt.Sprintf("%s on page %d, behind %s", o, n, last))
			}
			seen[o.Key] = true
			last = o.Key
		}
	}
}

// remaining checks what pages say about how many objects are left of a total.
func (c *checker) remaining(r *Read, total int) {
	left := total
	for n, p := range r.Pages {
		left -= len(p.Items)
		switch {
		case p.Remaining != nil && (!p.More || r.Scope.selected()):
			c.reportRead(PageSize, r, fmt.Sprintf("page %d says that %d remain, where nothing may be said", n, *p.Remaining))
		case p.Remaining != nil && *p.Remaining != int64(left):
			c.reportRead(PageSize, r, fmt.Sprintf("page %d says that %d remain, it is %d", n, *p.Remaining, left))
		}
	}
}
