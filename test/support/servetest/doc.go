// Package servetest gives the tests of proxy/serve and of the packages below it a cached resource, between
// an apiserver and an authorizer that the test controls, and clients of lists and watches. For tests only.
package servetest
