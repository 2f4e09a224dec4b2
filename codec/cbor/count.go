package cbor

// CountItems returns the number of data items in src, nested items included, which bounds the
// memory that decoding takes. It stops after limit items, and at the first byte that is not
// well-formed.
func CountItems(src []byte, limit int) int {
	n := 0
	for i := 0; i < len(src) && n <= limit; n++ {
		major, info := Major(src[i]&0xe0), src[i]&0x1f
		i++
		arg := uint64(info)
		if 24 <= info && info < 28 {
			width := 1 << (info - 24)
			if len(src)-i < width {
				break
			}
			arg = 0
			for _, b := range src[i : i+width] {
				arg = arg<<8 | uint64(b)
			}
			i += width
		}
		if (major == Bytes || major == Text) && info < 28 {
			if arg > uint64(len(src)-i) {
				break
			}
			i += int(arg)
		}
	}
	return n
}
