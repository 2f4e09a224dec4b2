package config

import (
	"fmt"
	"slices"
	"strings"
)

// Callers are those whose user, one of whose groups or whose user agent is listed. An entry that ends in "*" is a prefix. Empty
// lists mean nobody.
type Callers struct {
	// Users are names of users, such as "system:serviceaccount:monitoring:*".
	Users []string `json:"users,omitempty" reload:"true"`
	// Groups are names of groups.
	Groups []string `json:"groups,omitempty" reload:"true"`
	// UserAgents are values of the header User-Agent, such as "k9s/*". Every client can send any.
	UserAgents []string `json:"userAgents,omitempty" reload:"true"`
}

// Match reports whether a caller is one of them.
func (c *Callers) Match(user string, groups []string, agent string) bool {
	return matchesAny(c.Users, user) || matchesAny(c.UserAgents, agent) ||
		slices.ContainsFunc(groups, func(group string) bool { return matchesAny(c.Groups, group) })
}

func matchesAny(entries []string, name string) bool {
	return slices.ContainsFunc(entries, func(entry string) bool {
		prefix, some := strings.CutSuffix(entry, "*")
		return entry == name || some && strings.HasPrefix(name, prefix)
	})
}

func (c *Callers) validate(p *problems, field string) {
	for name, entries := range map[string][]string{"users": c.Users, "groups": c.Groups, "userAgents": c.UserAgents} {
		for i, entry := range entries {
			p.check(entry != "" && !strings.Contains(strings.TrimSuffix(entry, "*"), "*"), fmt.Sprintf("%s.%s[%d]", field, name, i),
				fmt.Sprintf("%q is not a name, or a prefix followed by *", entry))
		}
	}
}
