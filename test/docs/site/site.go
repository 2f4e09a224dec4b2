// Package site renders the documents as pages of plain HTML: one for each Markdown file, with the index docs/README.md as the
// navigation of all. The pages need no script, and load nothing but the style sheet and the pictures beside them.
package site

import (
	"bytes"
	"embed"
	"errors"
	"fmt"
	"html/template"
	"io/fs"
	"os"
	"path"
	"path/filepath"
	"regexp"
	"strings"

	"github.com/yuin/goldmark"
	"github.com/yuin/goldmark/ast"
	"github.com/yuin/goldmark/extension"
	tables "github.com/yuin/goldmark/extension/ast"
	"github.com/yuin/goldmark/parser"
	"github.com/yuin/goldmark/renderer/html"
	"github.com/yuin/goldmark/text"
)

//go:embed page.html style.css
var assets embed.FS

var (
	layout   = template.Must(template.ParseFS(assets, "page.html"))
	markdown = goldmark.New(
		goldmark.WithExtensions(extension.Table),
		goldmark.WithParserOptions(parser.WithAutoHeadingID()),
		goldmark.WithRendererOptions(html.WithUnsafe()), // the documents are ours, and name rows of tables by <a id>
	)
)

// index is the document whose lists of links are the navigation.
const index = "docs/README.md"

// link leads to a page or to a section.
type link struct{ URL, Text string }

// group is a heading of the navigation and what stands below it.
type group struct {
	Title string
	Links []link
}

// page is one document.
type page struct {
	source   string // its path from the root of the repository
	URL      string
	Title    string
	Sections []link // its second headings
	Groups   []group
	Body     template.HTML
}

// Build writes the site of the repository at root into the folder out.
func Build(root, out string) error {
	pages, err := documents(os.DirFS(root))
	if err != nil {
		return err
	}
	groups := pages[index].Groups
	for _, p := range pages {
		p.Groups = groups
		var body bytes.Buffer
		if err := layout.Execute(&body, p); err != nil {
			return err
		}
		if err := write(filepath.Join(out, p.URL), body.Bytes()); err != nil {
			return err
		}
	}
	docs, icons := os.DirFS(filepath.Join(root, "docs")), os.DirFS(filepath.Join(root, "proxy/see/assets"))
	return errors.Join(copyFiles(assets, "*.css", out), copyFiles(icons, "icon.svg", out),
		copyFiles(docs, "*.svg", out), copyFiles(docs, "performance/*", out))
}

// copyFiles copies the files that match a pattern.
func copyFiles(from fs.FS, pattern, out string) error {
	names, err := fs.Glob(from, pattern)
	for _, name := range names {
		text, failed := fs.ReadFile(from, name)
		err = errors.Join(err, failed, write(filepath.Join(out, name), text))
	}
	return err
}

func write(name string, text []byte) error {
	if err := os.MkdirAll(filepath.Dir(name), 0o755); err != nil {
		return err
	}
	return os.WriteFile(name, text, 0o644)
}

// documents renders every document, by its path.
func documents(root fs.FS) (map[string]*page, error) {
	sources, err := fs.Glob(root, "docs/*.md")
	if err != nil {
		return nil, err
	}
	pages := map[string]*page{}
	for _, source := range append(sources, "README.md", "CONTRIBUTING.md", "docs/config.yaml") {
		name := strings.ToLower(strings.TrimSuffix(path.Base(source), path.Ext(source)))
		switch source {
		case index:
			name = "index"
		case "README.md":
			name = "start"
		}
		pages[source] = &page{source: source, URL: name + ".html"}
	}
	for _, p := range pages {
		text, err := fs.ReadFile(root, p.source)
		if err != nil {
			return nil, err
		}
		if path.Ext(p.source) == ".yaml" {
			text = fmt.Appendf(nil, "# Configuration\n\n```yaml\n%s```\n", text)
		}
		if err := p.render(text, pages); err != nil {
			return nil, err
		}
	}
	return pages, nil
}

// render renders the Markdown of a page.
func (p *page) render(source []byte, pages map[string]*page) error {
	source = diagram.ReplaceAllFunc(source, drawn)
	context := parser.NewContext(parser.WithIDs(anchors{}))
	document := markdown.Parser().Parse(text.NewReader(source), parser.WithContext(context))
	var outside []*ast.Link
	err := ast.Walk(document, func(n ast.Node, entering bool) (ast.WalkStatus, error) {
		if !entering {
			return ast.WalkContinue, nil
		}
		switch n := n.(type) {
		case *ast.Heading:
			p.heading(n.Level, plain(n, source))
		case *ast.Link:
			if !p.resolve(n, pages) {
				outside = append(outside, n)
			}
			if last := len(p.Groups) - 1; p.source == index && last >= 0 {
				p.Groups[last].Links = append(p.Groups[last].Links, link{string(n.Destination), plain(n, source)})
			}
		case *ast.Image:
			n.Destination = bytes.TrimPrefix(n.Destination, []byte("docs/"))
		case *tables.Table:
			label(n, source)
		}
		return ast.WalkContinue, nil
	})
	if err != nil {
		return err
	}
	for _, n := range outside {
		unlink(n)
	}
	var body bytes.Buffer
	if err := markdown.Renderer().Render(&body, source, document); err != nil {
		return err
	}
	p.Body = template.HTML(body.String())
	return nil
}

// heading takes note of a heading: for the list of sections, and in the index for the navigation.
func (p *page) heading(level int, title string) {
	switch {
	case level == 1:
		p.Title = title
	case level == 2:
		p.Sections = append(p.Sections, link{"#" + Anchor(title), title})
		p.Groups = append(p.Groups, group{Title: title})
	}
}

// resolve makes a link to a document one to its page. It returns false for files of the repository that the site lacks.
func (p *page) resolve(n *ast.Link, pages map[string]*page) bool {
	target, section, found := strings.Cut(string(n.Destination), "#")
	if target == "" || strings.Contains(target, "://") {
		return true
	}
	file := path.Join(path.Dir(p.source), target)
	inside, beside := strings.CutPrefix(file, "docs/")
	switch to := pages[file]; {
	case to != nil:
		inside = to.URL
	case !beside || path.Ext(file) == "":
		return false
	}
	if found {
		inside += "#" + section
	}
	n.Destination = []byte(inside)
	return true
}

// unlink leaves only the text of a link.
func unlink(n *ast.Link) {
	for c := n.FirstChild(); c != nil; c = n.FirstChild() {
		n.Parent().InsertBefore(n.Parent(), n, c)
	}
	n.Parent().RemoveChild(n.Parent(), n)
}

// label gives each cell the title of its column, which narrow screens show before it.
func label(table ast.Node, source []byte) {
	var titles []string
	for row := table.FirstChild(); row != nil; row = row.NextSibling() {
		i := 0
		for cell := row.FirstChild(); cell != nil; cell = cell.NextSibling() {
			if row.Kind() == tables.KindTableHeader {
				titles = append(titles, plain(cell, source))
			} else if i > 0 && i < len(titles) && titles[i] != "" && cell.HasChildren() {
				cell.SetAttributeString("data-label", []byte(titles[i]))
			}
			i++
		}
	}
}

// plain returns the text of a node without its marks.
func plain(n ast.Node, source []byte) string {
	var b strings.Builder
	_ = ast.Walk(n, func(c ast.Node, entering bool) (ast.WalkStatus, error) { // no error is returned
		if t, ok := c.(*ast.Text); ok && entering {
			b.Write(t.Segment.Value(source))
		}
		return ast.WalkContinue, nil
	})
	return b.String()
}

// anchors gives headings the names that forges give them.
type anchors struct{}

func (anchors) Generate(heading []byte, _ ast.NodeKind) []byte {
	return []byte(Anchor(string(heading)))
}

func (anchors) Put([]byte) {}

var notInAnchors = regexp.MustCompile(`[^\w\- ]`)

// Anchor returns the name by which links point to a heading.
func Anchor(heading string) string {
	name := notInAnchors.ReplaceAllString(strings.ToLower(strings.TrimSpace(heading)), "")
	return strings.ReplaceAll(name, " ", "-")
}
