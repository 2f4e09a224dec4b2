package see

import (
	"fmt"
	"math"
	"strconv"
	"strings"
	"time"
)

// count formats a number of things in full, in groups of three digits.
func count(v float64) string {
	s := strconv.FormatFloat(math.Abs(v), 'f', 0, 64)
	var b strings.Builder
	if v < 0 {
		b.WriteByte('-')
	}
	for i, c := range s {
		if i > 0 && (len(s)-i)%3 == 0 {
			b.WriteRune('\u202f')
		}
		b.WriteRune(c)
	}
	return b.String()
}

// number formats a measured value with three digits.
func number(v float64) string {
	switch {
	case v == 0:
		return "0"
	case v < 0.995:
		return strconv.FormatFloat(v, 'f', 2, 64)
	case v < 99.95:
		return strconv.FormatFloat(v, 'f', 1, 64)
	}
	return count(v)
}

// size formats a number of bytes in SI units.
func size(v float64) string {
	for _, unit := range []string{"B", "kB", "MB", "GB"} {
		if v < 1000 {
			return strings.TrimSuffix(number(v), ".0") + "\u00a0" + unit
		}
		v /= 1000
	}
	return number(v) + "\u00a0TB"
}

// seconds formats a duration.
func seconds(v float64) string {
	d := time.Duration(v * float64(time.Second))
	switch {
	case d < time.Second:
		return fmt.Sprintf("%d\u00a0ms", d.Milliseconds())
	case d < 10*time.Second:
		return fmt.Sprintf("%.1f\u00a0s", v)
	case d < 2*time.Minute:
		return fmt.Sprintf("%.0f\u00a0s", v)
	case d < 2*time.Hour:
		return fmt.Sprintf("%.0f\u00a0min", v/60)
	case d < 48*time.Hour:
		return fmt.Sprintf("%.0f\u00a0h", v/3600)
	}
	return fmt.Sprintf("%.0f\u00a0d", v/86400)
}

// format returns the function that formats values of a unit.
func format(unit string) func(float64) string {
	switch unit {
	case "bytes":
		return size
	case "seconds":
		return seconds
	case "cores":
		return cores
	}
	return count
}

// optional formats a value that may be unknown.
func optional(v *float64, format func(float64) string) string {
	if v == nil {
		return nothing
	}
	return format(*v)
}

// cores formats CPU time of the apiserver.
func cores(v float64) string {
	switch {
	case v == 0:
		return nothing
	case v < 0.0005:
		return "<\u00a00.001"
	case v < 0.995:
		return fmt.Sprintf("%.3f", v)
	}
	return number(v)
}

// bound formats a bound of CPU time, which one that is nearly nothing does not need.
func bound(kind string, v float64) string {
	if v < 0.0005 {
		return cores(v)
	}
	return kind + cores(v)
}

// percent formats a part of 1.
func percent(part float64) string {
	p := part * 100
	if p > 99.9 && p < 100 {
		p = 99.9 // only all is 100 %
	}
	return strings.TrimSuffix(strconv.FormatFloat(p, 'f', 1, 64), ".0") + "\u00a0%"
}

// plural formats a number of things.
func plural(n float64, one, many string) string {
	if n == 1 {
		return "1 " + one
	}
	return count(n) + " " + many
}
