package priority

import (
	"net/http"
	"testing"

	"k8s.io/apiserver/pkg/authentication/user"
)

func TestCallersHaveTheirAccounts(t *testing.T) {
	stranger := as(t, nil, listPods)
	stranger.RemoteAddr = "192.0.2.1:4711"
	for _, c := range []struct {
		request *http.Request
		name    string
		want    account
	}{
		{ask(t, "jane", listPods), "jane", account{"jane", "jane"}},
		{askServiceAccount(t, "ns", "builder", listPods), "system:serviceaccount:ns:builder",
			account{"system:serviceaccount:ns", "system:serviceaccount:ns:builder"}},
		{ask(t, "system:serviceaccount:", listPods), "system:serviceaccount:", account{"system:serviceaccount:", "system:serviceaccount:"}},
		{stranger, user.Anonymous, account{"", "192.0.2.1"}},
	} {
		if got := callerOf(c.request); got.GetName() != c.name || got.account != c.want {
			t.Errorf("%s counts for %v, want %s and %v", got.GetName(), got.account, c.name, c.want)
		}
	}
}
