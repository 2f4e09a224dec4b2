// Package list answers lists and gets from the watch cache.
//
//	list.go      the stages of a list; get.go those of a get
//	contents.go  the snapshot that is shown, and its objects
//
// The package body writes it.
package list
