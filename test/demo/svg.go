package main

import (
	"fmt"
	"html"
	"strings"
)

// Sizes of the drawing, in pixels. A character of the usual monospaced fonts is 0.6 em wide.
const (
	fontSize   = 13
	cell       = 7.8
	lineHeight = 18
	margin     = 16
	perLine    = 102 // columns
)

// drawing is an SVG in the making.
type drawing struct {
	body  strings.Builder
	lines int
}

// draw returns a recording as an SVG that needs nothing else: no scripts, no fonts, no other files.
func draw(r recording) string {
	d := &drawing{}
	for i, s := range r {
		if s.command != "" {
			if i > 0 {
				d.lines++
			}
			d.line("$ "+s.command, ` class="c"`)
		}
		if s.output != "" {
			for line := range strings.SplitSeq(s.output, "\n") {
				d.line(line, "")
			}
		}
	}
	width, height := 2*margin+perLine*cell, 2*margin+d.lines*lineHeight
	return fmt.Sprintf(`<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 %g %d" width="%g" height="%d" role="img" aria-labelledby="t">`+"\n"+
		`<title id="t">A terminal: make demo, then kubectl and curl read from Sluice</title>`+"\n"+
		`<style>text{font:%dpx ui-monospace,SFMono-Regular,Menlo,Consolas,"DejaVu Sans Mono",monospace;fill:#c9d1d9}.c{fill:#fff;font-weight:600}</style>`+"\n"+
		`<rect width="100%%" height="100%%" rx="8" fill="#0d1117"/>`+"\n%s</svg>\n", width, height, width, height, fontSize, d.body.String())
}

// line draws a line, or the part of it that fits. Its length keeps the columns below each other in every font.
// Renderers may drop spaces at the beginning, and of several, so the former move the line and the latter do not break.
func (d *drawing) line(text, attributes string) {
	d.lines++
	if text = strings.TrimRight(text, " "); len(text) > perLine {
		text = text[:perLine-3] + "..."
	}
	shown := strings.TrimLeft(text, " ")
	if shown == "" {
		return
	}
	x, width := margin+float64(len(text)-len(shown))*cell, float64(len(shown))*cell
	shown = strings.ReplaceAll(strings.ReplaceAll(shown, "  ", "\u00a0\u00a0"), "\u00a0 ", "\u00a0\u00a0")
	fmt.Fprintf(&d.body, `<text x="%.1f" y="%d" textLength="%.1f"%s>%s</text>`+"\n",
		x, margin+d.lines*lineHeight-5, width, attributes, html.EscapeString(shown))
}
