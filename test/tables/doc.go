// Package tables compares codec/table with the real apiserver, cell by cell. It has tests only.
//
// The objects in testdata cover the states that their kinds print differently. They are written to an
// apiserver that serves every API version it has. Then each resource that can be listed is listed as a
// Table that includes whole objects, and every row is printed again from its object. A resource without
// rows fails the test, unless the map empty has the reason. And Sluice prints the same Tables from its cache.
package tables
