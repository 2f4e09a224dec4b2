package table

import meta "k8s.io/apimachinery/pkg/apis/meta/v1"

// docOf returns the description of a field of a type, by its JSON name. The apiserver describes a column that
// prints a field with the description of the field, in the API version of the type that is named here.
func docOf[T interface{ SwaggerDoc() map[string]string }](field string) string {
	var of T
	return of.SwaggerDoc()[field]
}

var metaDoc = meta.ObjectMeta{}.SwaggerDoc()
