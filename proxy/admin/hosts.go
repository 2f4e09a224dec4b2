package admin

import (
	"net"
	"net/http"
	"net/netip"
	"slices"
	"strings"

	"sluice/proxy/message"
)

// withHosts answers 421 unless the Host of a request is localhost, an IP address or in names. A web page
// whose DNS name was rebound to this address sends its own name, so the browser cannot read the
// responses of the listener. The scrapers and probes of Kubernetes address pods by IP.
func withHosts(next http.Handler, names []string) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		host := r.Host
		if h, _, err := net.SplitHostPort(host); err == nil {
			host = h
		}
		host = strings.ToLower(strings.TrimSuffix(strings.Trim(host, "[]"), "."))
		_, err := netip.ParseAddr(host)
		equal := func(name string) bool { return strings.EqualFold(name, host) }
		if err != nil && host != "localhost" && !slices.ContainsFunc(names, equal) {
			http.Error(w, message.UnknownHost.Say(), http.StatusMisdirectedRequest)
			return
		}
		next.ServeHTTP(w, r)
	})
}
