// Package docs holds the documents for operators to the code: what they list is what there is. It has
// tests only.
package docs
