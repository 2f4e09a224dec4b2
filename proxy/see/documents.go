package see

import (
	"errors"
	"fmt"
	"io/fs"
	"mime"
	"net/http"
	"path"
	"sync"

	"sluice/docs"
	"sluice/docs/site"
)

// documents are the pages of the documents and their pictures, by their names below guides.
var documents = sync.OnceValue(func() map[string][]byte {
	icon, err := assets.ReadFile("assets/icon.svg")
	files := map[string][]byte{"docs/icon.svg": icon}
	walked := fs.WalkDir(docs.Files, ".", func(name string, d fs.DirEntry, err error) error {
		if err == nil && !d.IsDir() {
			files["docs/"+name], err = docs.Files.ReadFile(name)
		}
		return err
	})
	pages, failed := site.Build(files, "/")
	if err := errors.Join(err, walked, failed); err != nil {
		panic(fmt.Errorf("the documents that the program carries: %w", err))
	}
	return pages
})

// guides is where the documents are.
const guides = "/see/docs/"

// guide returns the URL of a section of the documents: docs/faq.md#is-it-safe.
func guide(section string) string { return guides + site.URL(section) }

// runbook returns the section of the documents with a runbook, which a verdict names.
func runbook(name string) string { return "docs/deploying.md#" + name }

// serveDocument serves one of the documents.
func serveDocument(w http.ResponseWriter, r *http.Request) {
	name := r.PathValue("name")
	if name == "" {
		name = "index.html"
	}
	text, found := documents()[name]
	if !found {
		http.NotFound(w, r)
		return
	}
	kind := mime.TypeByExtension(path.Ext(name))
	w.Header().Set("Content-Type", kind)
	_, _ = w.Write(text) // an error means that the client is gone
}
