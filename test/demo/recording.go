package main

import (
	"context"
	"fmt"
	"html"
	"os"
	"os/exec"
	"strings"
	"time"
)

// recorded are the commands of a recording. The variables are those of demo.writeEnv.
var recorded = []string{
	`kubectl get pods -A --chunk-size=0 | head -5`,
	`kubectl get backups -A | head -4`,
	`curl -sD - --compressed --cacert $CA -H @$TOKEN $SLUICE/api/v1/pods | grep -iE '^(content-e|sluice)'`,
}

// settle is how long the clients run before the counters are recorded.
const settle = 10 * time.Second

// record runs the commands as a user would, and draws them below the steps of the demo into a file. None may fail, or
// print nothing.
func (d *demo) record(ctx context.Context, file string) error {
	if !pause(ctx, settle) {
		return ctx.Err()
	}
	table, err := d.counters(ctx)
	if err != nil {
		return err
	}
	text := "$ make demo\n" + strings.Join(d.shown, "\n") + "\n\n" + table + "\n\n$ . " + d.env() + "    # in another terminal"
	for _, command := range recorded {
		cmd := exec.CommandContext(ctx, "sh", "-c", ". "+d.env()+"\n"+command)
		cmd.Env = []string{"PATH=" + os.Getenv("PATH"), "HOME=" + d.dir, "TERM=dumb", "LC_ALL=C.UTF-8"}
		out, err := cmd.CombinedOutput()
		output := strings.TrimSpace(strings.ReplaceAll(string(out), "\r", ""))
		if err != nil || output == "" {
			return fmt.Errorf("%s: %v\n%s", command, err, output)
		}
		text += "\n\n$ " + command + "\n" + output
	}
	return os.WriteFile(file, []byte(draw(text)), 0o644)
}

// Sizes of the drawing, in pixels. A character of the usual monospaced fonts is 0.6 em wide.
const (
	fontSize   = 13
	cell       = 7.8
	lineHeight = 18
	margin     = 16
	perLine    = 102 // columns
)

// draw returns the text of a terminal as an SVG that needs nothing else: no scripts, no fonts, no other files.
func draw(text string) string {
	lines := strings.Split(text, "\n")
	body := ""
	for i, line := range lines {
		body += drawLine(line, margin+(i+1)*lineHeight-5)
	}
	width, height := 2*margin+perLine*cell, 2*margin+len(lines)*lineHeight
	return fmt.Sprintf(`<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 %g %d" width="%[1]g" height="%[2]d" role="img" aria-labelledby="t">
<title id="t">A terminal: make demo, then kubectl and curl read from Sluice</title>
<style>text{font:%[3]dpx ui-monospace,SFMono-Regular,Menlo,Consolas,"DejaVu Sans Mono",monospace;fill:#c9d1d9}.c{fill:#fff;font-weight:600}</style>
<rect width="100%%" height="100%%" rx="8" fill="#0d1117"/>
%[4]s</svg>
`, width, height, fontSize, body)
}

// drawLine draws a line, or the part of it that fits. Its length keeps the columns below each other in every font.
// Renderers may drop spaces at the beginning, and of several, so the former move the line and the latter do not break.
func drawLine(line string, y int) string {
	if line = strings.TrimRight(line, " "); len(line) > perLine {
		line = line[:perLine-3] + "..."
	}
	shown := strings.TrimLeft(line, " ")
	if shown == "" {
		return ""
	}
	class := ""
	if strings.HasPrefix(line, "$ ") { // a command
		class = ` class="c"`
	}
	x, width := margin+float64(len(line)-len(shown))*cell, float64(len(shown))*cell
	shown = strings.ReplaceAll(strings.ReplaceAll(shown, "  ", "\u00a0\u00a0"), "\u00a0 ", "\u00a0\u00a0")
	return fmt.Sprintf(`<text x="%.1f" y="%d" textLength="%.1f"%s>%s</text>`+"\n", x, y, width, class, html.EscapeString(shown))
}
