// Package site renders the documents as pages of plain HTML: one for each Markdown file, with the index docs/README.md as the
// navigation of all. The pages load nothing but the files beside them; a script finds words and copies code, and all else goes
// without it.
package site

import (
	"bytes"
	_ "embed"
	"encoding/json"
	"fmt"
	"html/template"
	"maps"
	"path"
	"regexp"
	"slices"
	"strings"

	"github.com/yuin/goldmark"
	"github.com/yuin/goldmark/ast"
	"github.com/yuin/goldmark/extension"
	tables "github.com/yuin/goldmark/extension/ast"
	"github.com/yuin/goldmark/parser"
	"github.com/yuin/goldmark/renderer/html"
	"github.com/yuin/goldmark/text"
)

var (
	//go:embed page.html
	frame string
	//go:embed style.css
	style []byte
	//go:embed script.js
	script []byte
)

var (
	layout   = template.Must(template.New("").Parse(frame))
	markdown = goldmark.New(
		goldmark.WithExtensions(extension.Table),
		goldmark.WithParserOptions(parser.WithAutoHeadingID()),
		goldmark.WithRendererOptions(html.WithUnsafe()), // the documents are ours, and name rows of tables by <a id>
	)
)

const (
	// index is the document whose lists of links are the navigation.
	index = "docs/README.md"
	// start is the first page, or the index is if there is none.
	start = "README.md"
)

// link leads to a page or to a section.
type link struct{ URL, Text string }

// group is a heading of the navigation and the links below it.
type group struct {
	Title string
	Links []link
}

// page is one document.
type page struct {
	source   string // its path from the root of the repository
	URL      string
	Home     string
	Title    string
	Sections []link // its second headings
	Groups   []group
	Body     template.HTML
	texts    []section
}

// section is a result of a search: a heading with the text below it.
type section struct {
	URL   string `json:"url"`
	Title string `json:"title"`
	Text  string `json:"text"`
}

// Build renders the files of the repository that are given by their paths: documents become pages, and other files of docs stay
// as they are. It returns the files of the site. Home is the URL of the site around the pages, or empty.
func Build(files map[string][]byte, home string) (map[string][]byte, error) {
	built := map[string][]byte{"style.css": style, "script.js": script}
	pages := map[string]*page{}
	_, hasStart := files[start]
	for source, text := range files {
		if url := urlOf(source); url != "" {
			if hasStart && source == index {
				url = "contents.html"
			}
			pages[source] = &page{source: source, URL: url, Home: home}
		} else {
			built[strings.TrimPrefix(source, "docs/")] = text
		}
	}
	others := slices.Collect(maps.Keys(built))
	for source, p := range pages {
		if err := p.render(files[source], pages, others); err != nil {
			return nil, err
		}
	}
	found, err := json.Marshal(texts(pages))
	if err != nil {
		return nil, err
	}
	built["search.js"] = slices.Concat([]byte("var sections = "), found, []byte("\n"))
	for _, p := range pages {
		p.Groups = pages[index].Groups
		var body bytes.Buffer
		if err := layout.Execute(&body, p); err != nil {
			return nil, err
		}
		built[p.URL] = body.Bytes()
	}
	return built, nil
}

// urlOf returns the URL of the page of a document; empty for other files.
func urlOf(source string) string {
	name, extension := strings.ToLower(strings.TrimSuffix(path.Base(source), path.Ext(source))), path.Ext(source)
	switch {
	case source == index, source == start:
		name = "index"
	case extension != ".md" && extension != ".yaml":
		return ""
	}
	return name + ".html"
}

// URL returns the URL of a section of the documents, which is named by a path of the repository: docs/faq.md#what-if.
func URL(section string) string {
	source, anchor, found := strings.Cut(section, "#")
	if found {
		anchor = "#" + anchor
	}
	return urlOf(source) + anchor
}

// render renders the text of a page, which may link to other pages and files of the site.
func (p *page) render(source []byte, pages map[string]*page, files []string) error {
	if path.Ext(p.source) == ".yaml" {
		source = fmt.Appendf(nil, "# Configuration\n\n```yaml\n%s```\n", source)
	}
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
			if !p.resolve(n, pages, files) {
				outside = append(outside, n)
			} else if last := len(p.Groups) - 1; p.source == index && last >= 0 {
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
	p.collect(document, source)
	return nil
}

// collect takes note of the texts by their headings.
func (p *page) collect(document ast.Node, source []byte) {
	for n := document.FirstChild(); n != nil; n = n.NextSibling() {
		switch h, isHeading := n.(*ast.Heading); {
		case isHeading && h.Level == 1:
			p.texts = append(p.texts, section{URL: p.URL, Title: p.Title})
		case isHeading:
			title := plain(h, source)
			p.texts = append(p.texts, section{URL: p.URL + "#" + Anchor(title), Title: p.Title + ": " + title})
		case len(p.texts) > 0:
			p.texts[len(p.texts)-1].Text += words(n, source)
		}
	}
}

// words returns the text of a node, code included, with one space behind each line.
func words(n ast.Node, source []byte) string {
	var b strings.Builder
	_ = ast.Walk(n, func(c ast.Node, entering bool) (ast.WalkStatus, error) { // no error is returned
		switch {
		case !entering:
		case c.Kind() == ast.KindText:
			b.Write(c.(*ast.Text).Segment.Value(source))
			if c.NextSibling() == nil || c.(*ast.Text).SoftLineBreak() {
				b.WriteByte(' ')
			}
		case c.Kind() == ast.KindFencedCodeBlock, c.Kind() == ast.KindCodeBlock:
			b.Write(c.Lines().Value(source))
		}
		return ast.WalkContinue, nil
	})
	return b.String()
}

// texts returns the sections of all pages, in an order that does not change.
func texts(pages map[string]*page) []section {
	var all []section
	for _, source := range slices.Sorted(maps.Keys(pages)) {
		all = append(all, pages[source].texts...)
	}
	return all
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
func (p *page) resolve(n *ast.Link, pages map[string]*page, files []string) bool {
	target, section, found := strings.Cut(string(n.Destination), "#")
	if target == "" || strings.Contains(target, "://") {
		return true
	}
	file := path.Join(path.Dir(p.source), target)
	inside := strings.TrimPrefix(file, "docs/")
	if to := pages[file]; to != nil {
		inside = to.URL
	} else if !slices.Contains(files, inside) {
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
