package main

import (
	"strconv"
	"strings"
)

// metrics is a page of metrics in the text format.
type metrics string

// sum adds up the samples of a metric that have all of these labels, written as label="value".
func (m metrics) sum(name string, labels ...string) float64 {
	total := 0.0
	for line := range strings.Lines(string(m)) {
		rest, ok := strings.CutPrefix(line, name)
		if !ok || rest[0] != '{' && rest[0] != ' ' {
			continue
		}
		end := strings.LastIndexByte(rest, ' ')
		if !hasAll(rest[:end], labels) {
			continue
		}
		value, err := strconv.ParseFloat(strings.TrimSpace(rest[end+1:]), 64)
		if err == nil {
			total += value
		}
	}
	return total
}

func hasAll(set string, labels []string) bool {
	for _, l := range labels {
		if !strings.Contains(set, "{"+l) && !strings.Contains(set, ","+l) {
			return false
		}
	}
	return true
}
