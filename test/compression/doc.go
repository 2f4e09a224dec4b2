// Package compression reads long answers in every content coding, from Sluice
// before a real apiserver: what is unpacked must be what comes uncompressed, and
// events must be there as soon as they have been sent.
package compression
