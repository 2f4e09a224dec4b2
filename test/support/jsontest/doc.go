// Package jsontest provides JSON for the tests of the codec packages: the objects of the Kubernetes
// serialization corpus, realistic objects, and random values with strings and numbers that encoders
// often get wrong.
package jsontest
