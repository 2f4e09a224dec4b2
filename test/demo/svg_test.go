package main

import (
	"encoding/xml"
	"errors"
	"io"
	"math"
	"regexp"
	"strconv"
	"strings"
	"testing"
	"time"
)

// drawn is what a test reads from an SVG.
type drawn struct {
	width float64
	texts []string  // indented as on a terminal
	ends  []float64 // the right end of each text
	ids   map[string]bool
	names map[string]bool // of elements
	style string
}

func parseSVG(t *testing.T, svg string) *drawn {
	t.Helper()
	d := &drawn{ids: map[string]bool{}, names: map[string]bool{}}
	dec := xml.NewDecoder(strings.NewReader(svg))
	in := ""
	for {
		token, err := dec.Token()
		if errors.Is(err, io.EOF) {
			return d
		}
		if err != nil {
			t.Fatalf("%v\n%s", err, svg)
		}
		switch token := token.(type) {
		case xml.StartElement:
			in = token.Name.Local
			d.names[in] = true
			at := map[string]string{}
			for _, a := range token.Attr {
				at[a.Name.Local] = a.Value
			}
			if at["id"] != "" {
				d.ids[at["id"]] = true
			}
			switch in {
			case "svg":
				d.width = float(t, at["width"])
			case "text":
				indent := int(math.Round((float(t, at["x"]) - margin) / cell))
				if at["class"] != "" { // of a prompt or a command
					indent = 0
				}
				d.texts = append(d.texts, strings.Repeat(" ", indent))
				if at["textLength"] != "" {
					d.ends = append(d.ends, float(t, at["x"])+float(t, at["textLength"]))
				}
			}
		case xml.CharData:
			switch in {
			case "text":
				d.texts[len(d.texts)-1] += string(token)
			case "style":
				d.style += string(token)
			}
		case xml.EndElement:
			in = ""
		}
	}
}

// shown returns the texts as a reader sees them.
func (d *drawn) shown() string {
	return strings.ReplaceAll(strings.Join(d.texts, "\n"), "\u00a0", " ")
}

func float(t *testing.T, s string) float64 {
	t.Helper()
	f, err := strconv.ParseFloat(s, 64)
	if err != nil {
		t.Fatal(err)
	}
	return f
}

var sampleRecording = recording{
	{command: "make demo"}, {output: "one ... 1.0s", took: time.Second},
	{command: `echo "<b>&amp;" '` + strings.Repeat("x", 200) + "'", output: "<script>alert(1)</script>\n\n  two   2  \n" + strings.Repeat("y", 103)},
	{command: "true"},
}

func TestDrawingShowsEveryLineAsItIs(t *testing.T) {
	svg := draw(sampleRecording)
	d := parseSVG(t, svg)
	long := `echo "<b>&amp;" '` + strings.Repeat("x", 200)
	want := []string{"$", "make demo", "one ... 1.0s", "$", long[:perLine-5] + "...", "<script>alert(1)</script>", "  two   2",
		strings.Repeat("y", perLine-3) + "...", "$", "true"}
	if regexp.MustCompile(`<text[^>]*>( |[^<]*  |\x{a0})`).MatchString(svg) {
		t.Errorf("a renderer may drop spaces of\n%s", svg)
	}
	if got := d.shown(); got != strings.Join(want, "\n") {
		t.Errorf("got\n%s\nwant\n%s", got, strings.Join(want, "\n"))
	}
	for i, end := range d.ends {
		if end > d.width-margin+0.01 {
			t.Errorf("text %d ends at %g of %g", i, end, d.width)
		}
	}
}

// An image in a README may run no scripts and load nothing.
func TestDrawingIsSelfContained(t *testing.T) {
	svg := draw(sampleRecording)
	d := parseSVG(t, svg)
	for name := range d.names {
		switch name {
		case "svg", "title", "style", "rect", "g", "text", "path":
		default:
			t.Errorf("element %s", name)
		}
	}
	if found := regexp.MustCompile(`href|url\(|@import|\son\w+=`).FindString(svg); found != "" {
		t.Errorf("it has %s", found)
	}
}

// Each animation has an element, each animated element has an animation, and without animations all shows.
func TestDrawingMovesOnlyForThoseWhoWantIt(t *testing.T) {
	d := parseSVG(t, draw(sampleRecording))
	still, moving, _ := strings.Cut(d.style, "@media (prefers-reduced-motion:no-preference){")
	if strings.Contains(still, "animation") || regexp.MustCompile(`\.s\{|text\{[^}]*opacity`).MatchString(still) {
		t.Errorf("still style %s", still)
	}
	if strings.Count(moving, "{") != strings.Count(moving, "}")-1 || !strings.HasSuffix(moving, "}") {
		t.Errorf("moving style %s", moving)
	}
	keyframes := map[string]bool{}
	for _, found := range regexp.MustCompile(`#(\w+)\{animation-name:(\w+)\}@keyframes (\w+)\{`).FindAllStringSubmatch(moving, -1) {
		if found[1] != found[2] || found[2] != found[3] || !d.ids[found[1]] {
			t.Errorf("animation %s of %s is %s", found[2], found[1], found[3])
		}
		keyframes[found[1]] = true
	}
	for id := range d.ids {
		if id != "t" && !keyframes[id] {
			t.Errorf("%s has no animation", id)
		}
	}
	// Percentages of a keyframes rule ascend and stay below 100.
	for _, rule := range regexp.MustCompile(`@keyframes \w+\{((?:[^{}]*\{[^{}]*\})+)\}`).FindAllStringSubmatch(moving, -1) {
		last := -1.0
		for _, p := range regexp.MustCompile(`([\d.]+)%[{,]`).FindAllStringSubmatch(rule[1], -1) {
			if f := float(t, p[1]); f <= last || f >= 100 {
				t.Errorf("%g%% after %g%% in %s", f, last, rule[0])
			} else {
				last = f
			}
		}
	}
}
