package main

import (
	"crypto/rand"
	"encoding/base64"
	"os"
	"strings"
	"testing"
)

func TestRecordingTellsNothingOfTheMachine(t *testing.T) {
	t.Setenv("HOME", "/home/alice")
	host, err := os.Hostname()
	if err != nil {
		t.Fatal(err)
	}
	here, err := os.Getwd()
	if err != nil {
		t.Fatal(err)
	}
	raw := make([]byte, 48)
	rand.Read(raw)
	for _, tt := range []struct{ name, text, want string }{
		{"token", "Token " + rand.Text(), "secret"},
		{"service account token", "eyJhbGciOiJSUzI1NiIsImtpZCI6IjEifQ.eyJpc3MiOiJ4In0.c2ln", "secret"},
		{"header", "authorization: bearer x", "secret"},
		{"certificate", "-----BEGIN CERTIFICATE-----", "secret"},
		{"key", base64.StdEncoding.EncodeToString(raw), "secret"},
		{"host name", "server: " + host + ":8443", host},
		{"home", "in /home/alice/sluice", "/home/alice"},
		{"repository", here + "/bin", here},
	} {
		for _, r := range []recording{{{output: "first\n" + tt.text}}, {{command: tt.text}}} {
			err := r.check()
			if err == nil || !strings.Contains(err.Error(), tt.want) {
				t.Errorf("%s: %v", tt.name, err)
			} else if tt.want == "secret" && strings.Contains(err.Error(), tt.text) {
				t.Errorf("%s: the error shows it: %v", tt.name, err)
			}
		}
	}
	harmless := recording{{command: ". .demo/env"}, {command: recorded[2], output: "sluice-source: cache; up-to-date"},
		{output: "payments    checkout-recommendation-6c9d7b5f4-x2v8q   2/2   Running   0   35s"}}
	if err := harmless.check(); err != nil {
		t.Error(err)
	}
}

// A command that fails, or that no longer prints anything, must not be drawn.
func TestRecordingNeedsEveryCommandToPrint(t *testing.T) {
	d := &demo{dir: &directory{path: t.TempDir()}}
	s, err := d.runCommand(t.Context(), "X='a b'", `printf '%s\r\n' "$X"; unset TOKEN`)
	if err != nil || s.output != "a b" {
		t.Errorf("%q, %v", s.output, err)
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
	shown := parseSVG(t, string(svg)).shown()
	for _, command := range recorded {
		if !strings.Contains(shown, command) {
			t.Errorf("it does not show %s", command)
		}
	}
	if err := (recording{{output: shown}}).check(); err != nil {
		t.Error(err)
	}
}
