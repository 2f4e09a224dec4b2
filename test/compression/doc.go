// Package compression reads long responses in every content coding from Sluice in front of a real
// apiserver: decompressed they must be equal to the uncompressed response, and every event of a
// watch must be readable as soon as Sluice has sent it.
package compression
