// Package clients puts real clients before Sluice - client-go's informers,
// kubectl, slow and broken ones - with a real apiserver behind it, and holds
// what they end up with against the apiserver's own state.
package clients
