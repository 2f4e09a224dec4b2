package jsontest

import (
	"encoding/json"
	"fmt"
	"math"
	"math/rand/v2"
	"strconv"
	"strings"
)

// Strings are texts that some encoding treats specially: as another type, as syntax, or as in need
// of escapes, folding or quotes.
var Strings = []string{
	"", " ", "  ", "\t", "\n", "\n\n", "a\n", "a\n\n", "\na", " a", "a ", "a b", "a\nb", "a\n b\n", " a\nb", "a \nb",
	"a\n\nb", "a\n\n\nb\n", "\n a", "  a\n b", "a\tb", "\ta", "a\n\tb", "a\r\nb", "\r", "a\r", "# c", "a # b", "a #b", "a#b",
	"null", "Null", "NULL", "~", "true", "True", "TRUE", "false", "yes", "Yes", "YES", "no", "No", "on", "On", "off", "y", "Y", "n", "N", "oN",
	"0", "1", "-1", "+1", "01", "0o7", "0x1f", "0b101", "1_000", "1__0", "_1", "1e3", "1E3", "1.5", ".5", "5.", "-.5", "1e", "e1", ".", "..", "0.",
	".inf", "-.inf", "+.inf", ".Inf", ".INF", ".nan", ".NaN", "inf", "NaN", "Infinity", "1:30", "1:30:45", "190:20:30", "1:2", "12:30:45.5",
	"2001-01-01", "2001-01-01T00:00:00Z", "2001-1-1", "2024-05-06T07:08:09.123456Z", "2001-12-14 21:59:43.10 -5", "20010101",
	"=", "<<", "-", "--", "---", "--- a", "...", "... a", "- a", "-a", "?", "? a", "?a", ":", ": a", ":a", "a:", "a: b", "a:b", "a :b",
	"{", "}", "[", "]", "{a}", "[a]", "a,b", ",", ", a", "&a", "*a", "!a", "!!str a", "|", "|-", ">", ">-", "'", "''", "'a'", "a'b", "\"", "\"a\"", "a\"b",
	"%", "%a", "@", "@a", "`", "`a`", "\\", "a\\b", "\\n", "/", "a/b", "~a", "a~", "<html>&amp;</html>", "a=b", "=a",
	"\x00", "\x01", "\x1b[0m", "\x7f", "\u0080", "\u0085", "\u00a0", "é", "日本語", "\u2028", "\u2029", "a\u2028b", "\ufeff", "\ufeffa", "a\ufeff", "\ufffd", "\uffff", "\ufffe", "\ue000", "😀", "a😀b", "\U0010ffff",
	"0777", "0888", "08", "09", "0_", "0x", "0xg", "0X1F", "0B1", "0O7", "+0x1", "-0x1", "-0", "+0", "0.0", "-0.0", "1.0", "1e1000", "123456789012345678901234567890",
	"18446744073709551615", "9223372036854775807", "9223372036854775808", "-9223372036854775808", "1.7976931348623157e+309", "+1.5e+3", "685_230.15", "1,000",
	strings.Repeat("word ", 40), strings.Repeat("x", 200), strings.Repeat("word  ", 30), strings.Repeat("long line of words ", 10) + "\n" + strings.Repeat("another ", 30),
	strings.Repeat("é ", 80), strings.Repeat("'", 90), strings.Repeat("\" ", 60), strings.Repeat("x", 79) + " y", strings.Repeat("x", 80) + " y", strings.Repeat("x", 127), strings.Repeat("k", 128), strings.Repeat("k", 129),
	"#!/bin/sh\nset -e\nif true; then\n\techo \"hi\"\nfi\n", "key: value\nlist:\n- a\n- b\n", "{\"a\": 1,\n \"b\": 2}\n", "-----BEGIN CERTIFICATE-----\nMIIB\nAAAA\n-----END CERTIFICATE-----\n",
	"a\n# b\n", "a\n  \nb", "a\n \n", "\n\n\n", " \n", "\n ", "a: \"b\"\n\n", "a\u2028\nb", "é\nü\n", "😀\n😀", "a\x00\nb", "a\n\ufeffb", "\u0085\n", "a\u0085b\nc", "trailing \nspace \n", "a\n\n ", "---\na\n---\n", "...\n", "a\n---\nb", "\t\n", "a\t\n",
	"system:serviceaccount:kube-system:default", "docker.io/library/nginx:1.25@sha256:" + strings.Repeat("ab", 32), "100m", "1Gi", "1.5Gi", "500Mi", "10%", "app.kubernetes.io/name", "*", "*.example.com", "http://example.com/?a=b&c=d", "--flag=value", "-v=2", "$(POD_NAME)", "{{ .Values.a }}", "f:metadata", "k:{\"name\":\"a\"}", "v:\"b\"",
}

// Numbers are spellings of numbers within 64 bits and float64.
var Numbers = []string{
	"0", "1", "-1", "-0", "10", "255", "256", "65535", "65536", "4294967295", "4294967296", "9223372036854775807", "-9223372036854775808",
	"1.0", "-1.0", "0.0", "-0.0", "1.5", "0.1", "3.14159", "1e3", "1E3", "1e+3", "1e-3", "1.0e0", "100000", "1000000", "10000000", "1e5", "1e6", "1e7", "1e20", "1e21", "1e22", "123456789.125",
	"65504", "65504.0", "65505.5", "5.960464477539063e-8", "1e-7", "1e-6", "0.000001", "0.0000001", "3.4028234663852886e38", "1.7976931348623157e308", "5e-324", "16777217.0", "0.30000000000000004", "100.0", "1234567.0", "12345678901234567000.0", "1e18", "9007199254740993",
}

// BigNumbers are numbers beyond 64 bits or float64.
var BigNumbers = []string{
	"9223372036854775808", "-9223372036854775809", "18446744073709551615", "18446744073709551616", "123456789012345678901234567890", "1e309", "-1e400", "1e-400",
}

// Random returns a random JSON value of at most the given depth, printed by encoding/json: compact,
// escaped for HTML, with members sorted and no duplicate names. Numbers vary in their spelling.
func Random(r *rand.Rand, depth int) []byte {
	b, err := json.Marshal(value(r, depth))
	if err != nil {
		panic(fmt.Sprint("random value: ", err))
	}
	return b
}

func value(r *rand.Rand, depth int) any {
	n := 10
	if depth <= 0 {
		n = 6
	}
	switch r.IntN(n) {
	case 0:
		return nil
	case 1:
		return r.IntN(2) == 0
	case 2:
		return number(r)
	case 3, 4, 5:
		return Text(r)
	case 6, 7:
		list := make([]any, r.IntN(5))
		for i := range list {
			list[i] = value(r, depth-1)
		}
		return list
	}
	return object(r, depth)
}

func object(r *rand.Rand, depth int) map[string]any {
	m := map[string]any{}
	for range r.IntN(6) {
		m[Text(r)] = value(r, depth-1)
	}
	return m
}

func number(r *rand.Rand) json.Number {
	switch r.IntN(4) {
	case 0:
		n := r.Int64() >> r.IntN(63)
		if r.IntN(2) == 0 {
			n = -n
		}
		return json.Number(strconv.FormatInt(n, 10))
	case 1:
		f := math.Float64frombits(r.Uint64())
		if math.IsNaN(f) || math.IsInf(f, 0) {
			f = r.NormFloat64()
		}
		return json.Number(strconv.FormatFloat(f, "eg"[r.IntN(2)], -1, 64))
	}
	return json.Number(Numbers[r.IntN(len(Numbers))])
}

var pieces = []string{" ", " ", "\n", "a", "b ", "word", ": ", " #", "'", "\"", "- ", "\t", ",", "é", "😀", "0", "\\", "\n\n", "\n ", "{", "}", "%", "\u2028", "\x01", "<", "\u0085", "\ufeff", "-", "?", "!", "\r"}

// Text returns a random string: one of Strings, or a concatenation of short pieces.
func Text(r *rand.Rand) string {
	switch r.IntN(4) {
	case 0, 1:
		return Strings[r.IntN(len(Strings))]
	case 2:
		return Strings[r.IntN(len(Strings))] + pieces[r.IntN(len(pieces))] + Strings[r.IntN(len(Strings))]
	}
	var b strings.Builder
	for range r.IntN(40) {
		b.WriteString(pieces[r.IntN(len(pieces))])
	}
	return b.String()
}
