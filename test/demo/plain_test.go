package main

import "testing"

func TestPlainTextHasNoEscapeSequences(t *testing.T) {
	for _, tt := range []struct{ name, in, want string }{
		{"colors", "\x1b[1;32mok\x1b[0m done", "ok done"},
		{"cursor", "\r\x1b[Kline\x1b[2A\x1b[J", "line"},
		{"title", "\x1b]0;host: dir\x07prompt", "prompt"},
		{"link", "\x1b]8;;https://x\x1b\\text\x1b]8;;\x1b\\", "text"},
		{"two bytes", "\x1b7kept\x1b8", "kept"},
		{"unfinished", "kept\x1b", "kept"},
		{"tabs", "a\tb\n12345678\tc", "a       b\n12345678        c"},
		{"line ends", "a\r\nb\n", "a\nb\n"},
		{"control characters", "a\x00\x07\x08\x7f\u0085b\uffff", "ab"},
		{"not UTF-8", "a\xffb", "a\ufffdb"},
	} {
		if got := plain(tt.in); got != tt.want {
			t.Errorf("%s: %q, want %q", tt.name, got, tt.want)
		}
	}
}

func TestLinesAreCutToTheirColumns(t *testing.T) {
	for _, tt := range []struct {
		line  string
		limit int
		want  string
		width int
	}{
		{"", 4, "", 0},
		{"four", 4, "four", 4},
		{"fiver", 4, "fiv…", 4},
		{"世界", 4, "世界", 4},
		{"世界x", 4, "世…", 3},
		{"世", 1, "…", 1},
		{"e\u0301te\u0301", 3, "e\u0301te\u0301", 3},
		{"e\u0301te\u0301s", 3, "e\u0301t…", 3},
	} {
		got, width := fit(tt.line, tt.limit)
		if got != tt.want || width != tt.width {
			t.Errorf("%q in %d columns: %q of %d, want %q of %d", tt.line, tt.limit, got, width, tt.want, tt.width)
		}
	}
}
