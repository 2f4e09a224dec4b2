package main

import (
	"os"
	"strings"
	"testing"
)

// A command that fails, or that no longer prints anything, must not be drawn.
func TestRecordingNeedsEveryCommandToPrint(t *testing.T) {
	d := &demo{dir: t.TempDir()}
	output, err := d.runCommand(t.Context(), "X='a b'", `printf '%s\r\n' "$X"; unset TOKEN`)
	if err != nil || output != "a b" {
		t.Errorf("%q, %v", output, err)
	}
	for command, want := range map[string]string{"echo out; exit 3": "exit status 3", "echo": "printed nothing", "echo a | grep b": "exit status 1"} {
		if _, err := d.runCommand(t.Context(), "true", command); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: %v", command, err)
		}
	}
}

// docs/demo.svg is drawn anew when the commands change: make demo FLAGS='--record docs/demo.svg'.
func TestDrawingInTheDocumentsIsCurrent(t *testing.T) {
	svg, err := os.ReadFile("../../docs/demo.svg")
	if err != nil {
		t.Fatal(err)
	}
	text := shown(t, string(svg))
	for _, command := range recorded {
		if !strings.Contains(text, "$ "+command) {
			t.Errorf("it does not show %s", command)
		}
	}
}
