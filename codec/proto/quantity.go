package proto

import (
	"unsafe"

	"k8s.io/apimachinery/pkg/api/resource"
)

// canonicalQuantity reports whether resource.Quantity is known to print s unchanged. That holds for
// up to nine digits without leading zeros, and without trailing zeros that would move into the
// suffix: the form of nearly all quantities on the wire, because the apiserver writes them
// canonical. False means unknown.
//
// Source: resource.ParseQuantity keeps such strings; for binary suffixes CanonicalizeBytes divides
// the number by 1024 as long as there is no remainder.
func canonicalQuantity(s []byte) bool {
	n, v := 0, uint64(0)
	for n < len(s) && s[n]-'0' <= 9 {
		v = v*10 + uint64(s[n]-'0')
		if n++; n > 9 {
			return false
		}
	}
	if v == 0 {
		return string(s) == "0"
	}
	if s[0] == '0' {
		return false
	}
	switch string(s[n:]) {
	case "", "m", "k", "M", "G":
		return v%1000 != 0
	case "Ki", "Mi", "Gi":
		return n <= 5 && v%1024 != 0 || n <= 8 && s[n] == 'K' && v%1024 != 0
	}
	return false
}

// appendQuantity appends s, the string of a quantity on the wire, as resource.Quantity prints it
// after decoding. It returns the error of resource.ParseQuantity.
func appendQuantity(dst, s []byte) ([]byte, error) {
	if canonicalQuantity(s) {
		return append(dst, s...), nil
	}
	q, err := resource.ParseQuantity(unsafe.String(unsafe.SliceData(s), len(s)))
	if err != nil {
		return dst, err
	}
	return append(dst, q.String()...), nil // copied while s is unchanged
}
