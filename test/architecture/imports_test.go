package architecture

import (
	"go/parser"
	"go/token"
	"io/fs"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"

	"sluice/test/harness"
)

// file is one source file that is part of the product.
type file struct {
	path    string // from the repository's root
	pkg     string // its directory
	name    string // the name that its package clause declares
	imports []string
	inner   []string // the imports of this module, without its name
}

// product parses the imports of every file of the product, tests left out.
func product(t *testing.T) []file {
	t.Helper()
	root, err := harness.Root()
	if err != nil {
		t.Fatal(err)
	}
	var files []file
	for _, top := range []string{"cmd", "proxy", "codec", "cache", "config"} {
		err := filepath.WalkDir(filepath.Join(root, top), func(path string, d fs.DirEntry, err error) error {
			if err != nil || d.IsDir() || !strings.HasSuffix(path, ".go") || strings.HasSuffix(path, "_test.go") {
				return err
			}
			parsed, err := parser.ParseFile(token.NewFileSet(), path, nil, parser.ImportsOnly)
			if err != nil {
				return err
			}
			rel, err := filepath.Rel(root, path)
			f := file{path: rel, pkg: filepath.Dir(rel), name: parsed.Name.Name}
			for _, i := range parsed.Imports {
				name, _ := strconv.Unquote(i.Path.Value)
				f.imports = append(f.imports, name)
				if inner, ours := strings.CutPrefix(name, "sluice/"); ours {
					f.inner = append(f.inner, inner)
				}
			}
			files = append(files, f)
			return err
		})
		if err != nil {
			t.Fatal(err)
		}
	}
	return files
}

func within(pkg, tree string) bool { return pkg == tree || strings.HasPrefix(pkg, tree+"/") }

// below lists, for each tree of the module, the other trees and packages that it may import.
var below = map[string][]string{
	"cmd":    {"proxy", "cache", "codec", "config", "docs"},
	"proxy":  {"cache", "codec", "config", "docs"},
	"codec":  {},
	"cache":  {},
	"config": {"codec/projection"}, // whose paths it checks
}

func TestImportsPointDown(t *testing.T) {
	for _, f := range product(t) {
		top, _, _ := strings.Cut(f.pkg, "/")
		for _, inner := range f.inner {
			target, _, _ := strings.Cut(inner, "/")
			if target != top && !slices.Contains(below[top], target) && !slices.Contains(below[top], inner) {
				t.Errorf("%s imports %s: %s must not import %s", f.path, inner, top, target)
			}
		}
	}
}

// TestProgramsImportEveryPackage checks that the product holds no package for tests only: those are in test.
func TestProgramsImportEveryPackage(t *testing.T) {
	files := product(t)
	imported := map[string]bool{} // by a package that a program imports; the programs themselves included
	for grown := true; grown; {
		before := len(imported)
		for _, f := range files {
			if f.name != "main" && !imported[f.pkg] {
				continue
			}
			imported[f.pkg] = true
			for _, inner := range f.inner {
				imported[inner] = true
			}
		}
		grown = len(imported) > before
	}
	for _, f := range files {
		if !imported[f.pkg] {
			t.Errorf("%s: no program imports package %s", f.path, f.pkg)
		}
	}
}

// TestSubpackagesDoNotImportTheirRoot checks that a package does not import the root package that is built
// from it. codec/negotiate is the exception: it returns a codec.Format.
func TestSubpackagesDoNotImportTheirRoot(t *testing.T) {
	for _, f := range product(t) {
		for _, root := range []string{"codec", "proxy"} {
			if f.pkg != root && f.pkg != "codec/negotiate" && within(f.pkg, root) && slices.Contains(f.inner, root) {
				t.Errorf("%s imports %s", f.path, root)
			}
		}
	}
}

// floors lists the packages of the cache, the lowest first.
var floors = []string{"cache/tree", "cache", "cache/fence", "cache/reflector"}

// TestPackagesOfTheCacheImportLowerOnesOnly checks that no package of the cache knows the ones that are built
// on it.
func TestPackagesOfTheCacheImportLowerOnesOnly(t *testing.T) {
	for _, f := range product(t) {
		floor := slices.Index(floors, f.pkg)
		if within(f.pkg, "cache") && floor < 0 {
			t.Errorf("%s: package %s has no floor", f.path, f.pkg)
		}
		for _, inner := range f.inner {
			if floor >= 0 && slices.Index(floors, inner) >= floor {
				t.Errorf("%s imports %s", f.path, inner)
			}
		}
	}
}

// allowed lists, for each library, the packages, trees of packages and files that may import it.
var allowed = map[string][]string{
	"github.com/elazarl/goproxy":          {"proxy/connect"},
	"github.com/prometheus/client_golang": {"metrics.go", "proxy/admin"},
	// The Go types are the schema of codec/proto, and their docs that of codec/table. codec,
	// framing and bookmark take errors, the metadata of lists and objects, and how all of these are
	// encoded, from apimachinery, codec/json the metadata of objects, and codec/cbor how bodies are decoded.
	"k8s.io": {"proxy/...", "cmd/...", "config/...",
		"codec", "codec/bookmark", "codec/cbor", "codec/framing", "codec/json", "codec/proto", "codec/table"},
	"k8s.io/kubernetes":              {},
	"sigs.k8s.io/controller-runtime": {}, // a client, for tests
	"net/http":                       {"proxy/...", "cmd/..."},
	"go.uber.org/zap":                {"proxy/...", "cmd/..."},
	"go.opentelemetry.io":            {"proxy/trace"},
	"github.com/spf13":               {"cmd/..."},
}

func TestLibrariesAreImportedWhereAllowed(t *testing.T) {
	for _, f := range product(t) {
		may := func(place string) bool {
			tree, below := strings.CutSuffix(place, "/...")
			return place == f.pkg || place == filepath.Base(f.path) || below && within(f.pkg, tree)
		}
		for _, name := range f.imports {
			for library, places := range allowed {
				if within(name, library) && !slices.ContainsFunc(places, may) {
					t.Errorf("%s must not import %s", f.path, name)
				}
			}
		}
	}
}
