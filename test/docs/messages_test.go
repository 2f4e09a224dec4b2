package docs

import (
	"fmt"
	"go/ast"
	"go/parser"
	"go/token"
	"go/types"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"

	"sluice/test/harness"
)

var verb = regexp.MustCompile(`%[a-z.0-9]*[a-z]`)

// TestTroubleshootingHasEveryMessage: a user looks there for what Sluice has said.
func TestTroubleshootingHasEveryMessage(t *testing.T) {
	var table strings.Builder
	table.WriteString("| name | what it says | what to do |\n|---|---|---|\n")
	names := map[string]bool{}
	source := texts(t, goFiles(t, "proxy/message"))
	declared := regexp.MustCompile(`= Message\{"([a-z-]+)",\s*("(?:[^"\\]|\\.)+"),\s*("(?:[^"\\]|\\.)+")\}`).FindAllStringSubmatch(source, -1)
	for _, m := range declared {
		text, textErr := strconv.Unquote(m[2])
		do, doErr := strconv.Unquote(m[3])
		if textErr != nil || doErr != nil || names[m[1]] {
			t.Errorf("%s is not as it should be, or its name is taken", m[0])
		}
		names[m[1]] = true
		fmt.Fprintf(&table, "| `%s` | %s | %s |\n", m[1], verb.ReplaceAllString(text, "…"), do)
	}
	if all := strings.Count(source, "= Message{"); len(declared) != all || all < 30 {
		t.Errorf("%d of %d messages have a name, a text and what to do", len(declared), all)
	}
	harness.CheckGenerated(t, "docs/troubleshooting.md", "messages", table.String(), *update)
}

// theirs are words of the apiserver that Sluice uses where it answers in its place, and one that only the log shows.
var theirs = []string{
	"-", "Unauthorized", "Connection closed early", "limit is %d", "The resourceVersion for the provided list is too old.",
	"storage is (re)initializing", "too old resource version: %d (%d)", "the object provided is unrecognized: ",
	"strict decoding error: ", "the backend attempted to redirect this request, which is not permitted",
	"apiserver responds %d: %s",
}

// makesStatus matches the functions that make a Status, a warning, or an answer in plain text.
var makesStatus = regexp.MustCompile(`^(apierrors\.New\w+|response\.New\w+|newRefusal|newError|http\.Error|utilnet\.NewWarningHeader)$`)

// TestOwnErrorsAreMessages looks at each Status that Sluice makes for words that are neither a message's nor the apiserver's.
func TestOwnErrorsAreMessages(t *testing.T) {
	said := 0
	check := func(words ast.Node) {
		ast.Inspect(words, func(n ast.Node) bool {
			switch n := n.(type) {
			case *ast.CallExpr:
				if strings.HasSuffix(types.ExprString(n.Fun), ".Say") {
					said++
					return false
				}
			case *ast.BasicLit:
				text, err := strconv.Unquote(n.Value)
				if n.Kind == token.STRING && text != "" && (err != nil || !slices.Contains(theirs, text)) {
					t.Errorf("a client receives %s, which is neither in package message nor in the apiserver's words", n.Value)
				}
			}
			return true
		})
	}
	statuses := 0
	inspect := func(n ast.Node) bool {
		switch n := n.(type) {
		case *ast.CallExpr:
			if makesStatus.MatchString(types.ExprString(n.Fun)) {
				check(&ast.CompositeLit{Elts: n.Args})
			}
		case *ast.CompositeLit:
			if n.Type == nil || types.ExprString(n.Type) != "metav1.Status" {
				break
			}
			statuses++
			for _, e := range n.Elts {
				if field, named := e.(*ast.KeyValueExpr); named && types.ExprString(field.Key) == "Message" {
					check(field.Value)
				}
			}
		case *ast.AssignStmt:
			for i, to := range n.Lhs {
				if strings.HasSuffix(types.ExprString(to), "Status.Message") {
					check(n.Rhs[min(i, len(n.Rhs)-1)])
				}
			}
		}
		return true
	}
	for _, path := range goFiles(t, "proxy") {
		file, err := parser.ParseFile(token.NewFileSet(), path, harness.Read(t, path), parser.SkipObjectResolution)
		if err != nil {
			t.Fatal(err)
		}
		ast.Inspect(file, inspect)
	}
	if said < 25 || statuses < 8 {
		t.Errorf("%d messages are said, %d statuses written out: the patterns are wrong", said, statuses)
	}
}
