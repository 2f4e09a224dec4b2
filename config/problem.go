package config

import (
	"cmp"
	"errors"
	"fmt"
	"slices"
	"strings"
)

// Problem is something wrong with a configuration.
type Problem struct {
	// Field is the path of the field, such as limits.seats or tls.sni[0].certFile; empty for
	// the whole file.
	Field string
	// Message names the correction.
	Message string

	path string
	position
}

// position is a place in a file, from 1; 0 if it is not known.
type position struct{ line, column int }

// Error implements error. It returns "path:line:column: field: message", of which the part that is not
// known is absent.
func (p *Problem) Error() string {
	var parts []string
	if p.path != "" {
		place := p.path
		for _, n := range []int{p.line, p.column} {
			if n > 0 {
				place += fmt.Sprintf(":%d", n)
			}
		}
		parts = append(parts, place)
	}
	if p.Field != "" {
		parts = append(parts, p.Field)
	}
	return strings.Join(append(parts, p.Message), ": ")
}

// join returns problems as one error, in the order of their lines; those without a line are last.
func join(all []Problem) error {
	slices.SortStableFunc(all, func(a, b Problem) int {
		return cmp.Or(cmp.Compare(min(b.line, 1), min(a.line, 1)), cmp.Compare(a.line, b.line),
			cmp.Compare(a.column, b.column), strings.Compare(a.Field, b.Field))
	})
	var joined []error
	for _, p := range all {
		joined = append(joined, &p)
	}
	return errors.Join(joined...)
}
