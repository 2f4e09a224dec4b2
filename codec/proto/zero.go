package proto

// AppendZero appends the zero object of the kind as a raw message: every field that is neither a
// pointer nor a slice nor a map is present and empty.
func (s *Schema) AppendZero(dst []byte) []byte {
	return append(dst, s.zero...)
}
