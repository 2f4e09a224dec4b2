package docs

import (
	"fmt"
	"regexp"
	"strings"
	"testing"

	"sluice/proxy/message"
	"sluice/test/harness"
)

var verb = regexp.MustCompile(`%[a-z.0-9]*[a-z]`)

// TestTroubleshootingHasEveryMessage: a user looks there for what Sluice has said.
func TestTroubleshootingHasEveryMessage(t *testing.T) {
	var table strings.Builder
	table.WriteString("| name | what it says | what to do |\n|---|---|---|\n")
	names := map[string]bool{}
	for _, m := range message.All {
		if m.Name == "" || m.Text == "" || m.Do == "" || names[m.Name] {
			t.Errorf("%+v lacks something, or its name is taken", m)
		}
		names[m.Name] = true
		fmt.Fprintf(&table, "| `%s` | %s | %s |\n", m.Name, verb.ReplaceAllString(m.Text, "…"), m.Do)
	}
	declared := regexp.MustCompile(`= Message\{"([a-z-]+)"`).FindAllStringSubmatch(sources(t, "proxy/message"), -1)
	for _, d := range declared {
		if !names[d[1]] {
			t.Errorf("message.All lacks %s", d[1])
		}
	}
	harness.CheckGenerated(t, "docs/troubleshooting.md", "messages", table.String(), *update)
}

// words of the apiserver that Sluice uses where it answers in its place.
var theirs = []string{
	"limit is %d", "The resourceVersion for the provided list is too old.", "storage is (re)initializing",
	"too old resource version: %d (%d)", "the object provided is unrecognized: ", "strict decoding error: ",
}

// TestOwnErrorsAreMessages looks for errors to clients that are written where they occur.
func TestOwnErrorsAreMessages(t *testing.T) {
	errors := regexp.MustCompile(`(?:apierrors\.New\w+|response\.New\w+|newRefusal|http\.Error)\((?:[^"\n]|\n\t*)*?"([^"\n]* [^"\n]*)"`)
	code := sources(t, "proxy")
	for _, line := range strings.Split(code, "\n") {
		for _, found := range errors.FindAllStringSubmatch(line, -1) {
			known := false
			for _, text := range theirs {
				known = known || text == found[1]
			}
			if !known {
				t.Errorf("a client receives %q, which is neither in package message nor in the apiserver's words", found[1])
			}
		}
	}
	if n := len(regexp.MustCompile(`message\.\w+\.Say\(`).FindAllString(code, -1)); n < 30 {
		t.Errorf("%d messages are said: the pattern is wrong", n)
	}
}
