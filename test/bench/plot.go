package main

import (
	"encoding/xml"
	"fmt"
	"io"
	"math"
	"os"
	"strings"
)

// bar is a row of a plot: one work at both servers.
type bar struct {
	name              string
	apiserver, sluice float64 // seconds; zero if not measured
}

// bars returns what the report says about CPU, or else about delays of events, and which of them.
func (r *report) bars() (what string, all []bar) {
	for _, t := range []struct{ table, unit string }{{listTable, ""}, {watchTable, ", event"}, {readTable, ""}} {
		for _, row := range r.rows(t.table) {
			if a := row.By[apiserverName]; a != nil {
				all = append(all, bar{row.Case + t.unit, a.CPU, row.of(sluiceName).CPU})
			}
		}
	}
	if len(all) > 0 {
		return "CPU of the server per request", all
	}
	return "Delay of an event", r.delays()
}

// delays returns the delays of events at watches that read, alone and beside some that do not.
func (r *report) delays() (all []bar) {
	by := map[string]*row{}
	for _, row := range r.rows(stalledTable) { // the largest number of watches comes last
		by[row.Target] = row
	}
	a, s := by[apiserverName], by[sluiceName]
	if a == nil || s == nil {
		return nil
	}
	for _, of := range []struct{ stage, name string }{
		{quietly, fmt.Sprintf("%d watches, all read", a.Clients)},
		{attacked, fmt.Sprintf("%d watches, %d do not read", a.Clients, a.of(attacked).Watches)},
	} {
		all = append(all, bar{of.name + ", p50", a.of(of.stage).P50, s.of(of.stage).P50},
			bar{of.name + ", p99", a.of(of.stage).P99, s.of(of.stage).P99})
	}
	return all
}

// The layout of a plot, in pixels.
const (
	plotNames  = 330 // width of the names
	plotWidth  = 560 // of the axis
	plotRow    = 30
	plotHead   = 64
	plotBar    = 10
	plotMargin = 20
)

// plot writes the report as an SVG image: the CPU time of each work, or the delay of events, at the apiserver and at Sluice,
// on a logarithmic axis.
func (r *report) plot(out io.Writer) error {
	what, bars := r.bars()
	least, most := math.Inf(1), math.Inf(-1)
	for _, b := range bars {
		for _, v := range []float64{b.apiserver, b.sluice} {
			if v > 0 {
				least, most = min(least, math.Floor(math.Log10(v))), max(most, math.Ceil(math.Log10(v)))
			}
		}
	}
	if len(bars) == 0 || least >= most {
		return fmt.Errorf("nothing to plot")
	}
	at := func(v float64) float64 { return plotWidth * (math.Log10(v) - least) / (most - least) }
	height := plotHead + plotRow*len(bars) + plotMargin
	var s strings.Builder
	fmt.Fprintf(&s, `<svg xmlns="http://www.w3.org/2000/svg" width="%[1]d" height="%[2]d" viewBox="0 0 %[1]d %[2]d" `+
		`font-family="sans-serif" font-size="12">`+"\n",
		plotNames+plotWidth+3*plotMargin, height)
	fmt.Fprintf(&s, `<rect width="100%%" height="100%%" fill="white"/>`+"\n")
	text := func(x float64, y int, anchor, format string, args ...any) {
		fmt.Fprintf(&s, `<text x="%.1f" y="%d" text-anchor="%s">`, x, y, anchor)
		_ = xml.EscapeText(&s, fmt.Appendf(nil, format, args...))
		s.WriteString("</text>\n")
	}
	text(plotMargin, 20, "start", what+", %d pods, %d CPUs, %s", r.Pods, r.CPUs, r.Date.Format("2006-01-02"))
	rect := func(y int, v float64, color string) {
		if v > 0 {
			fmt.Fprintf(&s, `<rect x="%d" y="%d" width="%.1f" height="%d" fill="%s"/>`+"\n",
				plotNames+plotMargin, y, max(at(v), 1), plotBar, color)
		}
	}
	const gray, blue = "#9aa0a6", "#1a73e8"
	for i, legend := range []struct{ name, color string }{{apiserverName, gray}, {sluiceName, blue}} {
		fmt.Fprintf(&s, `<rect x="%d" y="30" width="10" height="10" fill="%s"/>`+"\n", plotMargin+100*i, legend.color)
		text(float64(plotMargin+100*i+15), 40, "start", "%s", legend.name)
	}
	for exponent := least; exponent <= most; exponent++ {
		x := plotNames + plotMargin + at(math.Pow(10, exponent))
		fmt.Fprintf(&s, `<line x1="%[1]f" y1="%[2]d" x2="%[1]f" y2="%[3]d" stroke="#dadce0"/>`+"\n", x, plotHead-6, height-plotMargin)
		text(x, plotHead-12, "middle", "%g ms", math.Pow(10, exponent+3))
	}
	for i, b := range bars {
		y := plotHead + i*plotRow
		text(plotNames, y+15, "end", "%s", b.name)
		rect(y, b.apiserver, gray)
		rect(y+plotBar+1, b.sluice, blue)
	}
	s.WriteString("</svg>\n")
	_, err := io.WriteString(out, s.String())
	return err
}

// savePlot writes the plot; an empty path means no file.
func (r *report) savePlot(path string) error {
	if path == "" {
		return nil
	}
	f, err := os.Create(path)
	if err != nil {
		return err
	}
	if err := r.plot(f); err != nil {
		f.Close()
		return err
	}
	return f.Close()
}
