package splice

// gzipHeader begins a gzip stream as the apiserver writes it: deflate, no flags, no time, fastest, unknown system.
const gzipHeader = "\x1f\x8b\x08\x00\x00\x00\x00\x00\x04\xff"

// final is an empty last deflate block; it follows blocks that end at a byte boundary.
const final = "\x03\x00"
