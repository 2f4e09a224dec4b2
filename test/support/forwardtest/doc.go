// Package forwardtest gives the tests of proxy/forward and of the packages below it a Forwarder
// with a client on one side and an upstream on the other, over TLS and in every combination of
// HTTP/1.1 and HTTP/2. For tests only.
package forwardtest
