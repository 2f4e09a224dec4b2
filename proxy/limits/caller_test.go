package limits

import (
	"testing"

	"k8s.io/apiserver/pkg/authentication/user"
)

func TestCallersShareAGroupByTheirNamespaceAndTheClusterDependsOnSome(t *testing.T) {
	for _, row := range []struct {
		name, group string
		want        Caller
	}{
		{"jane", "system:authenticated", Caller{Group: "user:jane"}},
		{"kubernetes-admin", "system:masters", Caller{"user:kubernetes-admin", true}},
		{"system:node:n1", "system:nodes", Caller{"user:system:node:n1", true}},
		{"system:kube-scheduler", "", Caller{"user:system:kube-scheduler", true}},
		{"system:serviceaccount:kube-system:a", "system:serviceaccounts:kube-system", Caller{"namespace:kube-system", true}},
		{"system:serviceaccount:team:a", "system:serviceaccounts:team", Caller{Group: "namespace:team"}},
		{"system:serviceaccount:team:b", "system:serviceaccounts:team", Caller{Group: "namespace:team"}},
	} {
		if got := ByUser(&user.DefaultInfo{Name: row.name, Groups: []string{row.group}}); got != row.want {
			t.Errorf("%s: %+v", row.name, got)
		}
	}
}

func TestAddressIsWhatAClientCannotChoose(t *testing.T) {
	for remote, want := range map[string]string{
		"192.0.2.1:4242": "192.0.2.1", "[::ffff:192.0.2.1]:1": "192.0.2.1",
		"[2001:db8:1:2:3:4:5:6]:1": "2001:db8:1:2::/64", "[2001:db8:1:2::9%eth0]:2": "2001:db8:1:2::/64",
		"[2001:db8:1:3::1]:1": "2001:db8:1:3::/64", "[fe80::1%eth0]:1": "fe80::/64", "memory": "memory",
	} {
		if got := addressOf(remote); got != want {
			t.Errorf("%s: %s, want %s", remote, got, want)
		}
	}
}
