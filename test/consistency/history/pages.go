package history

import "fmt"

// pages checks that the pages of a list have one version, keep the limit, and hold each object once
// in the order of keys.
func (c *checker) pages(r *Read) {
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
				c.reportRead(Unordered, r, fmt.Sprintf("%s on page %d, after %s", o, n, last))
			}
			seen[o.Key] = true
			last = o.Key
		}
	}
}

// remaining checks the remainingItemCount of each page of a list of total objects.
func (c *checker) remaining(r *Read, total int) {
	left := total
	for n, p := range r.Pages {
		left -= len(p.Items)
		switch {
		case p.Remaining != nil && (!p.More || r.Scope.hasSelector()):
			c.reportRead(PageSize, r, fmt.Sprintf("page %d has remainingItemCount %d, but must have none", n, *p.Remaining))
		case p.Remaining != nil && *p.Remaining != int64(left):
			c.reportRead(PageSize, r, fmt.Sprintf("page %d has remainingItemCount %d, want %d", n, *p.Remaining, left))
		}
	}
}
