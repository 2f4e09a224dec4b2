package main

import (
	"encoding/xml"
	"errors"
	"html"
	"io"
	"math"
	"regexp"
	"strconv"
	"strings"
	"testing"
)

var sampleRecording = recording{
	{command: "make demo"}, {output: "one ... 1.0s"},
	{command: `echo "<b>&amp;" '` + strings.Repeat("x", 200) + "'", output: "<script>alert(1)</script>\n\n  two   2  \n" + strings.Repeat("y", 103)},
	{command: "true"},
}

var drawnLine = regexp.MustCompile(`<text x="([\d.]+)" y="\d+" textLength="([\d.]+)"[^>]*>([^<]*)</text>`)

// shown returns the lines of a drawing as a reader sees them, and checks that none is wider than the drawing.
func shown(t *testing.T, svg string) string {
	t.Helper()
	var lines []string
	for _, found := range drawnLine.FindAllStringSubmatch(svg, -1) {
		x, errX := strconv.ParseFloat(found[1], 64)
		width, errWidth := strconv.ParseFloat(found[2], 64)
		if errX != nil || errWidth != nil || x+width > margin+perLine*cell+0.1 {
			t.Errorf("%s is too wide: %v, %v", found[0], errX, errWidth)
		}
		text := strings.ReplaceAll(html.UnescapeString(found[3]), "\u00a0", " ")
		lines = append(lines, strings.Repeat(" ", int(math.Round((x-margin)/cell)))+text)
	}
	return strings.Join(lines, "\n")
}

func TestDrawingShowsEveryLineAsItIs(t *testing.T) {
	svg := draw(sampleRecording)
	long := `$ echo "<b>&amp;" '` + strings.Repeat("x", 200)
	want := strings.Join([]string{"$ make demo", "one ... 1.0s", long[:perLine-3] + "...", "<script>alert(1)</script>", "  two   2",
		strings.Repeat("y", perLine-3) + "...", "$ true"}, "\n")
	if regexp.MustCompile(`<text[^>]*>( |[^<]*  |\x{a0})`).MatchString(svg) {
		t.Errorf("a renderer may drop spaces of\n%s", svg)
	}
	if got := shown(t, svg); got != want {
		t.Errorf("got\n%s\nwant\n%s", got, want)
	}
}

// An image in a README may run no scripts and load nothing.
func TestDrawingIsSelfContained(t *testing.T) {
	svg := draw(sampleRecording)
	for dec := xml.NewDecoder(strings.NewReader(svg)); ; {
		token, err := dec.Token()
		if errors.Is(err, io.EOF) {
			break
		}
		if err != nil {
			t.Fatalf("%v\n%s", err, svg)
		}
		if e, starts := token.(xml.StartElement); starts && !strings.Contains(" svg title style rect text ", " "+e.Name.Local+" ") {
			t.Errorf("element %s", e.Name.Local)
		}
	}
	if found := regexp.MustCompile(`href|url\(|@import|\son\w+=`).FindString(svg); found != "" {
		t.Errorf("it has %s", found)
	}
}
