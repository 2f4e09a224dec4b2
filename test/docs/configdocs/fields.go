package configdocs

import (
	"go/ast"
	"go/parser"
	"go/token"
	"path/filepath"
	"reflect"
	"regexp"
	"slices"
	"strings"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// sources are the files with the types of the configuration: their comments are its documentation.
var sources = []string{"callers.go", "file.go", "limits.go", "proxy.go"}

// field is a field of the configuration, with its documentation.
type field struct {
	name   string // in the file
	doc    string // one paragraph
	of     reflect.Type
	enum   []string // the values of a string; nil means any
	value  reflect.Value
	fields []field // of an object
}

// reloadNote is the end of the documentation of a field that may change while Sluice runs.
const reloadNote = "(reloaded)"

// fields returns the fields of an object and their values.
func fields(of reflect.Value, docs documentation) []field {
	var all []field
	for i := range of.NumField() {
		f := of.Type().Field(i)
		one := field{name: nameOf(f), of: f.Type, value: of.Field(i), doc: docs.of(of.Type(), f.Name)}
		if f.Type.Kind() == reflect.Pointer {
			one.of, one.value = f.Type.Elem(), of.Field(i).Elem()
		}
		if enum, ok := f.Tag.Lookup("enum"); ok {
			one.enum = strings.Split(enum, ",")
		}
		if f.Tag.Get("reload") == "true" {
			one.doc += " " + reloadNote
		}
		if one.isObject() {
			one.fields = fields(one.value, docs)
		}
		all = append(all, one)
	}
	return all
}

func (f *field) isObject() bool { return f.of.Kind() == reflect.Struct && !f.isDuration() }

func (f *field) isDuration() bool { return f.of == reflect.TypeFor[metav1.Duration]() }

// documentation holds the comments on types, under their name, and on fields, under Type.Field.
type documentation map[string]string

// readDocumentation parses the comments of the sources in a directory.
func readDocumentation(dir string) (documentation, error) {
	docs := documentation{}
	for _, name := range sources {
		parsed, err := parser.ParseFile(token.NewFileSet(), filepath.Join(dir, name), nil, parser.ParseComments|parser.SkipObjectResolution)
		if err != nil {
			return nil, err
		}
		for _, d := range parsed.Decls {
			if types, ok := d.(*ast.GenDecl); ok && types.Tok == token.TYPE {
				docs.add(types)
			}
		}
	}
	return docs, nil
}

// add adds the comments of a type. One comment may document several fields in a row, whose names it has.
func (docs documentation) add(d *ast.GenDecl) {
	spec := d.Specs[0].(*ast.TypeSpec)
	body, ok := spec.Type.(*ast.StructType)
	if !ok {
		return
	}
	docs[spec.Name.Name] = d.Doc.Text()
	previous := ""
	for _, f := range body.Fields.List {
		for _, name := range f.Names {
			switch comment := f.Doc.Text(); {
			case comment != "":
				previous = comment
			case f.Comment.Text() != "":
				previous = f.Comment.Text()
			case !slices.Contains(words.FindAllString(previous, -1), name.Name):
				previous = ""
			}
			docs[spec.Name.Name+"."+name.Name] = previous
		}
	}
}

var words = regexp.MustCompile(`\w+`)

// of returns the documentation of a field as one paragraph, in which fields have the names of the file.
// An object of a type with the field's name is documented by that type.
func (docs documentation) of(object reflect.Type, name string) string {
	doc := docs[object.Name()+"."+name]
	names := object
	if f, _ := object.FieldByName(name); f.Type.Kind() == reflect.Struct && strings.HasSuffix(f.Type.Name(), name) {
		if of := docs[f.Type.Name()]; len(of) > len(doc) {
			doc, names = name+strings.TrimPrefix(of, f.Type.Name()), f.Type
		}
	}
	return strings.Join(strings.Fields(words.ReplaceAllStringFunc(doc, func(word string) string {
		for _, t := range []reflect.Type{object, names} {
			if f, ok := t.FieldByName(word); ok {
				return nameOf(f)
			}
		}
		return word
	})), " ")
}

// nameOf returns the name of a field in the file.
func nameOf(f reflect.StructField) string {
	name, _, _ := strings.Cut(f.Tag.Get("json"), ",")
	return name
}
