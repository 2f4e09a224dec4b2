package splice

// Coding is an HTTP content coding (RFC 9110, section 8.4.1). The zero value is Identity.
type Coding uint8

// The content codings.
const (
	Identity Coding = iota
	Gzip
	Zstd
)

// String returns the name of the coding in Content-Encoding.
func (c Coding) String() string { return [...]string{"identity", "gzip", "zstd"}[c] }

// Compress returns a Block of plain; c must not be Identity. Its data is appended to dst and may
// alias it.
func (c Coding) Compress(dst, plain []byte) Block {
	if c == Gzip {
		return newGzipBlock(appendDeflate(dst, plain)[len(dst):], plain)
	}
	return Block{Data: appendFrame(dst, plain)[len(dst):], Plain: len(plain)}
}

// Store returns a Block of plain at little cost, for runs that are too short to compress well, such
// as separators; c must not be Identity. In Gzip the run is not compressed and grows by five bytes
// per 65,535. Its data is appended to dst and may alias it.
func (c Coding) Store(dst, plain []byte) Block {
	if c == Gzip {
		return newGzipBlock(appendStored(dst, plain)[len(dst):], plain)
	}
	return c.Compress(dst, plain)
}
