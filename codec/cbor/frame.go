package cbor

// AppendEventHead appends a watch event up to its object, which the caller appends without tag.
// Nothing follows the object.
//
//	d9d9f7 a2 "type" typ "object" d9d9f7 …
func AppendEventHead(dst []byte, typ string) []byte {
	dst = AppendMap(append(dst, SelfDescribed...), 2)
	dst = AppendString(AppendString(dst, "type"), typ)
	return append(AppendString(dst, "object"), SelfDescribed...)
}

// AppendListHead appends a list up to its items. The caller appends n items without tags; nothing
// follows them. If n is negative, items is null and the list is complete. metadata is the ListMeta
// in JSON.
//
// The error is one of AppendFromJSON for the metadata; dst is then returned unchanged.
func AppendListHead(dst []byte, apiVersion, kind string, metadata []byte, n int) ([]byte, error) {
	base := len(dst)
	dst = AppendMap(append(dst, SelfDescribed...), 4)
	dst = AppendString(AppendString(dst, "kind"), kind)
	dst = AppendString(AppendString(dst, "apiVersion"), apiVersion)
	dst, err := AppendFromJSON(AppendString(dst, "metadata"), metadata)
	if err != nil {
		return dst[:base], err
	}
	dst = AppendString(dst, "items")
	if n < 0 {
		return append(dst, Null), nil
	}
	return AppendArray(dst, n), nil
}
