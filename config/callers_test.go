package config

import "testing"

func TestCallersMatchByUserGroupOrUserAgent(t *testing.T) {
	t.Parallel()
	c := Callers{
		Users: []string{"alice", "system:serviceaccount:tenant-*"}, Groups: []string{"tenants", "team:*"}, UserAgents: []string{"k9s/*"},
	}
	for name, test := range map[string]struct {
		user   string
		groups []string
		agent  string
		want   bool
	}{
		"the user":             {"alice", nil, "", true},
		"a longer name":        {"alice2", nil, "", false},
		"a shorter name":       {"alic", nil, "", false},
		"a prefix of the user": {"system:serviceaccount:tenant-a:sa", nil, "", true},
		"one of the groups":    {"bob", []string{"others", "tenants"}, "", true},
		"a prefix of a group":  {"bob", []string{"team:a"}, "", true},
		"a group as user":      {"tenants", nil, "", false},
		"a user as group":      {"bob", []string{"alice"}, "", false},
		"the user agent":       {"bob", nil, "k9s/v1", true},
		"another user agent":   {"bob", nil, "kubectl/v1 k9s/v1", false},
		"nothing of it":        {"bob", []string{"others"}, "kubectl/v1", false},
	} {
		if got := c.Match(test.user, test.groups, test.agent); got != test.want {
			t.Errorf("%s: %v, want %v", name, got, test.want)
		}
	}
	if (&Callers{}).Match("", []string{""}, "") {
		t.Error("empty lists match")
	}
	if !(&Callers{Users: []string{"*"}}).Match("anybody", nil, "") {
		t.Error("* does not match every user")
	}
}
