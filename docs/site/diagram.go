package site

import (
	"fmt"
	"html"
	"regexp"
	"strings"
)

// diagram is a Mermaid flowchart, which forges draw. Here each of its lines becomes a row of boxes and arrows: that needs
// neither a script nor a browser beforehand.
var diagram = regexp.MustCompile("(?s)```mermaid\nflowchart [A-Z]+\n(.*?)```")

var (
	arrow = regexp.MustCompile(` *-\.?->(?:\|([^|]*)\|)? *`)
	node  = regexp.MustCompile(`^ *(\w+)(?:[\[({]+([^\])}]*)[\])}]+)?$`)
)

// drawn returns the HTML of a diagram. The text of a node stands only where it is first named.
func drawn(block []byte) []byte {
	texts := map[string]string{}
	text := func(n string) string {
		found := node.FindStringSubmatch(n)
		if found == nil {
			return n
		}
		if found[2] != "" {
			texts[found[1]] = found[2]
		}
		return texts[found[1]]
	}
	rows := strings.Split(strings.TrimSpace(string(diagram.FindSubmatch(block)[1])), "\n")
	var out strings.Builder
	out.WriteString("<figure class=\"flow\">\n")
	for _, row := range rows {
		nodes, arrows := arrow.Split(row, -1), arrow.FindAllStringSubmatch(row, -1)
		fmt.Fprintf(&out, "<p><b>%s</b>", html.EscapeString(text(nodes[0])))
		for i, a := range arrows {
			fmt.Fprintf(&out, " <i>%s →</i> <b>%s</b>", html.EscapeString(a[1]), html.EscapeString(text(nodes[i+1])))
		}
		out.WriteString("</p>\n")
	}
	out.WriteString("</figure>\n")
	return []byte(out.String())
}
