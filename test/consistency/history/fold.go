package history

import "fmt"

// fold returns the state that a streaming list delivers: initial events, possibly changes among
// them, and the bookmark that ends the initial events.
func (c *checker) fold(r *Read) map[string]*Object {
	objects := map[string]*Object{}
	for n, item := range r.Stream {
		if item.Type == Bookmark {
			if n != len(r.Stream)-1 {
				c.reportRead(FalseBookmark, r, fmt.Sprintf("%s among the initial events", &item))
			}
			continue
		}
		before := objects[item.Object.Key]
		switch {
		case item.Type == Added && before != nil:
			c.reportRead(Duplicate, r, fmt.Sprintf("%s, but the object exists as %s", &item, before))
		case item.Type != Added && before == nil:
			c.reportRead(Invented, r, fmt.Sprintf("%s, but the object does not exist", &item))
		case before != nil && item.Version <= before.Version:
			c.reportRead(Reordered, r, fmt.Sprintf("%s after %s", &item, before))
		}
		if item.Type == Deleted {
			delete(objects, item.Object.Key)
		} else {
			objects[item.Object.Key] = item.Object
		}
	}
	return objects
}
