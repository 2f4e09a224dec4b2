package main

import (
	"fmt"
	"html"
	"strings"
	"time"
)

// Sizes of the drawing, in pixels. A character of the usual monospaced fonts is 0.6 em wide.
const (
	fontSize   = 13
	cell       = 7.8
	lineHeight = 18
	margin     = 16
	perLine    = 102 // columns
)

// Times of the drawing.
const (
	typing     = 35 * time.Millisecond  // per character
	typingMost = 2 * time.Second        // per command
	waitMost   = 800 * time.Millisecond // for output, however long a command took
	reading    = 150 * time.Millisecond // per line of output
	thinking   = 700 * time.Millisecond // before the next command
	holding    = 8 * time.Second        // before the drawing begins anew
)

// look is the style of a drawing. Without animations, as for those who prefer reduced motion, all
// of it shows at once.
const look = `text{font:%dpx ui-monospace,SFMono-Regular,Menlo,Consolas,"DejaVu Sans Mono",monospace;fill:#c9d1d9}` +
	`.c{fill:#fff;font-weight:600}.p{fill:#7ee787}.k{opacity:0}` +
	`@media (prefers-reduced-motion:no-preference){.s{animation:%s infinite step-end}.k{animation:%s infinite linear}%s}`

// drawing is an SVG in the making.
type drawing struct {
	body  strings.Builder
	cues  []cue
	lines int
	now   time.Duration
}

// cue is when something appears. A cover of a command then moves away from it, character by character.
type cue struct {
	at, typed  time.Duration
	characters int // 0 for what is not typed
}

// draw returns a recording as an SVG that needs nothing else: no scripts, no fonts, no other files.
func draw(r recording) string {
	d := &drawing{now: thinking}
	for i, s := range r {
		if s.command != "" {
			if i > 0 {
				d.now += thinking
				d.lines++
			}
			d.command(s.command)
		}
		d.now += min(s.took, waitMost)
		d.output(s.output)
	}
	return d.svg()
}

// command draws a prompt and a command that is typed.
func (d *drawing) command(text string) {
	text = cut(text, perLine-2)
	n := len(text)
	typed := min(time.Duration(n)*typing, typingMost)
	d.cues = append(d.cues, cue{at: d.now, typed: typed, characters: n})
	y, left := d.next(), margin+2*cell
	id := len(d.cues) - 1
	fmt.Fprintf(&d.body, `<g class="s" id="s%d"><text x="%d" y="%d" class="p">$</text>`, id, margin, y)
	d.text(left, y, text, ` class="c"`)
	fmt.Fprintf(&d.body, `<g class="k" id="k%d"><path fill="#0d1117" d="M%g %dh%gv%dh-%gz"/><path fill="#c9d1d9" d="M%g %dh%gv%dh-%gz"/></g></g>`+"\n",
		id, left, y-fontSize, float64(n)*cell, lineHeight, float64(n)*cell, left, y-fontSize+1, cell, fontSize+3, cell)
	d.now += typed
}

// output draws lines that appear at the same time.
func (d *drawing) output(text string) {
	if text == "" {
		return
	}
	d.cues = append(d.cues, cue{at: d.now})
	fmt.Fprintf(&d.body, `<g class="s" id="s%d">`, len(d.cues)-1)
	for line := range strings.SplitSeq(text, "\n") {
		d.now += reading
		line = cut(strings.TrimRight(line, " "), perLine)
		if y := d.next(); line != "" {
			d.text(margin, y, line, "")
		}
	}
	d.body.WriteString("</g>\n")
}

// cut returns the part of a line that fits into a number of columns.
func cut(line string, columns int) string {
	if len(line) > columns {
		return line[:columns-3] + "..."
	}
	return line
}

// text draws a line. Its length keeps the columns below each other in every font.
// Renderers may drop spaces at the beginning, and of several, so the former move the line and the
// latter do not break.
func (d *drawing) text(x float64, y int, line, attributes string) {
	shown := strings.TrimLeft(line, " ")
	indent := len(line) - len(shown)
	width := float64(len(shown)) * cell
	shown = strings.ReplaceAll(strings.ReplaceAll(shown, "  ", "\u00a0\u00a0"), "\u00a0 ", "\u00a0\u00a0")
	fmt.Fprintf(&d.body, `<text x="%.1f" y="%d" textLength="%.1f"%s>%s</text>`,
		x+float64(indent)*cell, y, width, attributes, html.EscapeString(shown))
}

// next returns the base line of the next line.
func (d *drawing) next() (y int) {
	d.lines++
	return margin + d.lines*lineHeight - 5
}

func (d *drawing) svg() string {
	total := d.now + holding
	at := func(t time.Duration) string { return fmt.Sprintf("%.2f%%", 100*t.Seconds()/total.Seconds()) }
	var keys strings.Builder
	for i, c := range d.cues {
		fmt.Fprintf(&keys, "#s%d{animation-name:s%d}@keyframes s%d{0%%{opacity:0}%s{opacity:1}}", i, i, i, at(c.at))
		if c.characters == 0 {
			continue
		}
		fmt.Fprintf(&keys, "#k%d{animation-name:k%d}@keyframes k%d{0%%{opacity:1}%s{opacity:1;transform:none;animation-timing-function:steps(%d)}"+
			"%s{opacity:1;transform:translateX(%gpx)}%s,to{opacity:0;transform:translateX(%gpx)}}",
			i, i, i, at(c.at), c.characters, at(c.at+c.typed), float64(c.characters)*cell, at(c.at+c.typed+time.Millisecond*10), float64(c.characters)*cell)
	}
	seconds := fmt.Sprintf("%.1fs", total.Seconds())
	width, height := 2*margin+perLine*cell, 2*margin+d.lines*lineHeight
	return fmt.Sprintf(`<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 %g %d" width="%g" height="%d" role="img" aria-labelledby="t">`+"\n"+
		`<title id="t">A terminal: make demo, then kubectl and curl read from Sluice</title>`+"\n"+
		"<style>"+look+"</style>\n"+`<rect width="100%%" height="100%%" rx="8" fill="#0d1117"/>`+"\n%s</svg>\n",
		width, height, width, height, fontSize, seconds, seconds, keys.String(), d.body.String())
}
