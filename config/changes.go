package config

import "reflect"

// Changes compares two configurations that have their defaults. It returns the paths of the fields that
// differ: of those with the tag reload, which may change while Sluice runs, and of the others.
func Changes(old, new *File) (reload, restart []string) {
	compare(reflect.ValueOf(old).Elem(), reflect.ValueOf(new).Elem(), "", func(path string, reloadable bool) {
		if reloadable {
			reload = append(reload, path)
		} else {
			restart = append(restart, path)
		}
	})
	return reload, restart
}

func compare(old, new reflect.Value, path string, differs func(path string, reloadable bool)) {
	for i := range old.NumField() {
		f := old.Type().Field(i)
		at, reloadable := below(path, jsonName(f)), isReloadable(f)
		if isObject(f.Type) && !reloadable {
			compare(old.Field(i), new.Field(i), at, differs)
		} else if !equal(old.Field(i), new.Field(i)) {
			differs(at, reloadable)
		}
	}
}

// equal reports whether two values mean the same. A list that is absent is empty.
func equal(a, b reflect.Value) bool {
	if a.Kind() == reflect.Slice && a.Len() == 0 && b.Len() == 0 {
		return true
	}
	return reflect.DeepEqual(a.Interface(), b.Interface())
}

// isReloadable reports whether a field, or all below it, may change while Sluice runs.
func isReloadable(f reflect.StructField) bool { return f.Tag.Get("reload") == "true" }
