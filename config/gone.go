package config

// gone are the fields that earlier releases had, with what to do instead.
var gone = map[string]string{
	"proxy.tunnel":    "the proxy leads to the API only: exempt other destinations by NO_PROXY",
	"proxy.usersFile": "the proxy leads to the API only, where clients authenticate: remove it",
}
