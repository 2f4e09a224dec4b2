package table

import (
	"fmt"
	"strconv"
	"strings"
)

// A path is parsed into steps. The grammar is that of kubectl's JSONPath as
// far as printer columns make sensible use of it: members, escaped or in
// brackets, indices, slices, [*] and comparing filters. What lies beyond it,
// valid or not, is an ErrPath: what the apiserver makes of it then depends
// on the order of Go's maps, on printing several results, or on how far it
// got before a syntax error.

// step takes values to values. Exactly one field is set, or none for a member
// whose name is empty.
type step struct {
	member string
	slice  *slice
	filter *filter
}

// slice is [start:end:by]. A bound that was not written is not known; the
// end of a single index is derived from its start.
type slice struct {
	start, end, by bound
	derived        bool
}

type bound struct {
	n     int
	known bool
}

// filter keeps the elements of an array at whose path the comparison holds;
// without an operator, those that have something at that path.
type filter struct {
	path  []string
	op    string
	right literal
}

// parsePath parses a column's path, which begins with a dot.
func parsePath(s string) ([]step, error) {
	var steps []step
	for rest := s; rest != ""; {
		var add []step
		var err error
		switch {
		case strings.HasPrefix(rest, ".."):
			err = ErrPath
		case rest[0] == '.':
			add, rest, err = parseMember(rest[1:])
		case strings.HasPrefix(rest, "[?("):
			add, rest, err = parseFilter(rest[3:])
		case rest[0] == '[':
			add, rest, err = parseBrackets(rest[1:])
		default:
			err = ErrPath
		}
		if err != nil {
			return nil, fmt.Errorf("path %q at %q: %w", s, rest, err)
		}
		steps = append(steps, add...)
	}
	if len(steps) == 0 {
		return nil, fmt.Errorf("path %q: %w", s, ErrPath)
	}
	return steps, nil
}

// parseMember reads a member's name up to what ends it. A backslash takes
// away the meaning of what follows, and is itself dropped.
func parseMember(s string) (steps []step, rest string, err error) {
	end := 0
	for end < len(s) && !strings.ContainsRune(" \t\r\n.,[]$@{}", rune(s[end])) {
		if s[end] == '\\' {
			end++
		}
		end++
	}
	end = min(end, len(s))
	name := strings.ReplaceAll(s[:end], `\`, "")
	if name == "*" {
		return nil, s, ErrPath
	}
	return []step{{member: name}}, s[end:], nil
}

// parseBrackets reads an index, a slice or a quoted path.
func parseBrackets(s string) (steps []step, rest string, err error) {
	inside, rest, ok := strings.Cut(s, "]")
	if !ok || strings.ContainsAny(inside, ",\n") {
		return nil, s, ErrPath
	}
	if n := len(inside); n >= 2 && inside[0] == '\'' && inside[n-1] == '\'' {
		if strings.Contains(inside[1:n-1], "'") {
			return nil, s, ErrPath
		}
		steps, err = parsePath("." + inside[1:n-1])
		return steps, rest, err
	}
	if inside == "*" {
		inside = ":"
	}
	sl, ok := parseSlice(strings.Split(inside, ":"))
	if !ok {
		return nil, s, ErrPath
	}
	return []step{{slice: &sl}}, rest, nil
}

func parseSlice(parts []string) (s slice, ok bool) {
	if len(parts) > 3 {
		return s, false
	}
	for i, into := range []*bound{&s.start, &s.end, &s.by} {
		if i >= len(parts) || parts[i] == "" {
			continue
		}
		n, err := strconv.Atoi(parts[i])
		if err != nil || parts[i][0] == '+' {
			return s, false
		}
		*into = bound{n, true}
	}
	if len(parts) == 1 {
		s.end, s.derived = bound{s.start.n + 1, true}, true
	}
	return s, true
}
