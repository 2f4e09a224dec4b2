package table

import "sluice/codec/json"

// firstAt returns the first value at a path; ok is false if there is none or
// evaluation fails, which all look alike in a cell. Every step is taken for
// all values before the next one, because one failure voids them all.
func (r *row) firstAt(steps []step) (v json.Value, ok bool) {
	// The object is an object, and a path begins with a dot: the first step is a member.
	if v = r.part(steps[0].member); v == nil {
		return nil, false
	}
	r.found = append(r.found[:0], v)
	for i := range steps[1:] {
		r.previous, r.found = r.found, r.previous[:0]
		if ok = r.take(&steps[i+1]); !ok || len(r.found) == 0 {
			return nil, false
		}
	}
	return r.found[0], true
}

// take takes one step from all previous values to those found. It fails
// where the apiserver's evaluation does.
func (r *row) take(s *step) bool {
	for _, v := range r.previous {
		switch {
		case s.slice != nil:
			if v.Kind() == json.Null {
				continue
			}
			more, ok := r.slice(v, s.slice)
			if !more {
				return ok
			}
		case s.filter != nil:
			if !r.filter(v, s.filter) {
				return false
			}
		default:
			if m := v.Get(s.member); m != nil {
				r.found = append(r.found, m)
			}
		}
	}
	return true
}

// slice finds the elements of a slice of v. If it is an empty one the
// apiserver looks no further: more is false and the step is done.
func (r *row) slice(v json.Value, s *slice) (more, ok bool) {
	if v.Kind() != json.Array {
		return false, false
	}
	n := v.Len()
	start, end := s.bounds(n)
	if start == end {
		return false, true
	}
	if start < 0 || start >= n || end < 0 || end > n || start > end || s.by.known && s.by.n <= 0 {
		return false, false
	}
	by := 1
	if s.by.known {
		by = s.by.n
	}
	for i, e := range v.Elements {
		if i >= start && i < end && (i-start)%by == 0 {
			r.found = append(r.found, e)
		}
	}
	return true, true
}

// bounds returns the slice's bounds in an array of n elements, negative ones
// counted from its end.
func (s *slice) bounds(n int) (start, end int) {
	start, end = s.start.n, s.end.n
	if start < 0 {
		start += n
	}
	if !s.end.known {
		end = n
	}
	if end < 0 || end == 0 && s.derived {
		end += n
	}
	return start, end
}

// filter finds the elements of v for which a filter holds.
func (r *row) filter(v json.Value, f *filter) bool {
	if v.Kind() != json.Array {
		return false
	}
	for _, e := range v.Elements {
		left := e.Get(f.path...)
		if left == nil {
			continue
		}
		if f.op != "" {
			holds, ok := scalarOf(left).holds(f.op, f.right)
			if !ok {
				return false
			}
			if !holds {
				continue
			}
		}
		r.found = append(r.found, e)
	}
	return true
}
