package splice

// Coding is a way to compress streams, by the names that HTTP has for them (RFC 9110, section 8.4.1). The zero value is
// none.
type Coding uint8

// The codings.
const (
	Identity Coding = iota
	Gzip
	Zstd
)

// String returns the name, as in Content-Encoding.
func (c Coding) String() string { return [...]string{"identity", "gzip", "zstd"}[c] }

// Compress makes a Block of plain. Its data is appended to dst, and may alias it. There are no Blocks in Identity.
func (c Coding) Compress(dst, plain []byte) Block {
	if c == Gzip {
		return Compress(dst, plain, DefaultLevel)
	}
	return Block{Data: AppendFrame(dst, plain)[len(dst):], Plain: len(plain)}
}

// Store makes a Block of plain at little cost, for what is too short to gain: separators, heads, tails. Its data is
// appended to dst, and may alias it.
func (c Coding) Store(dst, plain []byte) Block {
	if c == Gzip {
		return Store(dst, plain)
	}
	return c.Compress(dst, plain)
}
