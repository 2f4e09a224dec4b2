package tree

import "fmt"

// check returns an error if a tree or its index breaks an invariant.
func (t Tree) check() error {
	if err := validate(t.root); err != nil {
		return err
	}
	beyond := t.beyond
	for o := range t.Objects(Range{}) {
		beyond -= o.beyond()
	}
	if beyond != 0 {
		return fmt.Errorf("the memory of objects is %d bytes too large", beyond)
	}
	return validate(t.index)
}

// validate checks the invariants of a tree: order of keys, sizes, sums, and equal depth.
func validate(root *node) error {
	if root == nil {
		return nil
	}
	var last Key
	_, err := root.validate(true, &last)
	return err
}

// validate returns the height of n. On entry, last is the largest key before n; on return, the
// largest key of n.
func (n *node) validate(root bool, last *Key) (int, error) {
	if n.segment != nil {
		return 0, n.validateLeaf(last)
	}
	if !root && n.underflows() {
		return 0, fmt.Errorf("node at %q underflows", n.first)
	}
	return n.validateInner(last)
}

func (n *node) validateLeaf(last *Key) error {
	s := n.segment
	if len(s.objects) == 0 || len(s.objects) > segmentMax || len(s.objects) != n.count {
		return fmt.Errorf("segment at %q holds %d objects, counted %d", n.first, len(s.objects), n.count)
	}
	if s.objects[0].Key != n.first {
		return fmt.Errorf("segment starts at %q, not %q", s.objects[0].Key, n.first)
	}
	for _, o := range s.objects {
		if o.Key <= *last {
			return fmt.Errorf("key %q follows %q", o.Key, *last)
		}
		*last = o.Key
	}
	bytes := dataBytes(s.objects)
	if bytes > SegmentBytes && len(s.objects) > 1 {
		return fmt.Errorf("segment at %q holds %d bytes in %d objects", n.first, bytes, len(s.objects))
	}
	if bytes != n.bytes {
		return fmt.Errorf("segment at %q sums to %d bytes, not %d", n.first, bytes, n.bytes)
	}
	return nil
}

func (n *node) validateInner(last *Key) (int, error) {
	if len(n.kids) > nodeMax || n.first != n.kids[0].first {
		return 0, fmt.Errorf("node at %q with %d children starting at %q", n.first, len(n.kids), n.kids[0].first)
	}
	count, bytes, height := 0, int64(0), -1
	for _, kid := range n.kids {
		h, err := kid.validate(false, last)
		if err != nil {
			return 0, err
		}
		if height >= 0 && h != height {
			return 0, fmt.Errorf("children of %q differ in height", n.first)
		}
		height = h
		count += kid.count
		bytes += kid.bytes
	}
	if count != n.count || bytes != n.bytes {
		return 0, fmt.Errorf("node at %q sums to %d objects and %d bytes, not %d and %d", n.first, count, bytes, n.count, n.bytes)
	}
	return height + 1, nil
}
