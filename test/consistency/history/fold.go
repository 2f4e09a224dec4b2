package history

import "fmt"

// fold is the state that a streaming list leads to: objects, perhaps changes
// to them, and the bookmark that ends it.
func (c *checker) fold(r *Read) map[string]*Object {
	shown := map[string]*Object{}
	for n, item := range r.Stream {
		if item.Type == Bookmark {
			if n != len(r.Stream)-1 {
				c.reportRead(Lie, r, fmt.Sprintf("%s before the end of the state", &item))
			}
			continue
		}
		before := shown[item.Object.Key]
		switch {
		case item.Type == Added && before != nil:
			c.reportRead(Duplicate, r, fmt.Sprintf("%s, which is there as %s", &item, before))
		case item.Type != Added && before == nil:
			c.reportRead(Invented, r, fmt.Sprintf("%s, which is not there", &item))
		case before != nil && item.Version <= before.Version:
			c.reportRead(Reordered, r, fmt.Sprintf("%s after %s", &item, before))
		}
		if item.Type == Deleted {
			delete(shown, item.Object.Key)
		} else {
			shown[item.Object.Key] = item.Object
		}
	}
	return shown
}
