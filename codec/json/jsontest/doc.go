// Package jsontest gives the tests of the codec packages the JSON they run
// over: every object of Kubernetes' own corpus, realistic objects, and random
// values full of strings and numbers that are easy to get wrong. For tests
// only.
package jsontest
