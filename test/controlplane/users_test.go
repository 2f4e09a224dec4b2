package main

import (
	"maps"
	"os"
	"strings"
	"testing"
)

func TestTokensSurviveRestart(t *testing.T) {
	d := directory(t.TempDir())
	first, err := loadTokens(d)
	if err != nil {
		t.Fatal(err)
	}
	second, err := loadTokens(d)
	if err != nil {
		t.Fatal(err)
	}
	if !maps.Equal(first, second) {
		t.Errorf("tokens before %v, after %v", first, second)
	}
}

func TestTokenFileHasNoEmptyGroup(t *testing.T) {
	d := directory(t.TempDir())
	if _, err := loadTokens(d); err != nil {
		t.Fatal(err)
	}
	content, err := os.ReadFile(d.file(tokenFile))
	if err != nil {
		t.Fatal(err)
	}
	for line := range strings.Lines(string(content)) {
		if strings.HasSuffix(strings.TrimSpace(line), ",") {
			t.Errorf("line %q", line)
		}
	}
}
