package splice

import (
	"hash/crc32"
	"math/bits"
)

// The CRC-32 of gzip is the remainder of the message, as a polynomial over GF(2), modulo P. A
// uint32 holds a polynomial with the coefficient of x^0 in the highest bit, as in hash/crc32.
// Appending n bytes to a message multiplies its polynomial by x^(8n). Therefore
//
//	crc(a+b) = crc(a)·x^(8·len(b)) + crc(b)   (mod P)
//
// where the initial and final inversions of both sides cancel.

// one is the polynomial 1, x is the polynomial x.
const (
	one = uint32(1) << 31
	x   = uint32(1) << 30
)

// squares[k] is x^(2^k) mod P.
var squares = func() (t [64]uint32) {
	t[0] = x
	for k := 1; k < len(t); k++ {
		t[k] = multiply(t[k-1], t[k-1])
	}
	return t
}()

// multiply returns a·b mod P: the sum of b·x^i for each coefficient of x^i in a that is set.
func multiply(a, b uint32) (sum uint32) {
	for ; a != 0; a <<= 1 {
		sum ^= b & -(a >> 31)
		b = b>>1 ^ crc32.IEEE&-(b&1)
	}
	return sum
}

// shift returns x^(8n) mod P, which advances a CRC past n bytes. It takes one multiplication per
// set bit of n.
func shift(n uint64) uint32 {
	s := one
	for ; n != 0; n &= n - 1 {
		s = multiply(s, squares[(bits.TrailingZeros64(n)+3)&63])
	}
	return s
}

// combine returns the CRC of a message in two parts with the CRCs a and b. shift must be the shift
// of the length of the second part.
func combine(a, b, shift uint32) uint32 { return multiply(a, shift) ^ b }
