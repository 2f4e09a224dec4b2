// Package architecture holds the tree to its design: which package may import
// which.
package architecture
