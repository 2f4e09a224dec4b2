// Package tables compares codec/table with the real apiserver, cell by cell. It has tests only.
//
// The objects in testdata are written to an apiserver that serves every API version it has, in the
// states that their kinds print differently. Then each resource that can be listed is listed as a
// Table with whole objects in it, and every row is printed again from its object. A resource without
// a row fails, unless it stands in a list here with the reason.
package tables
