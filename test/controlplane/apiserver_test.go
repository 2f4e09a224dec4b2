package main

import (
	"slices"
	"strings"
	"testing"
)

func TestUserFlagsReplaceDefaults(t *testing.T) {
	const given = "--authorization-mode=AlwaysAllow"
	got := apiserverFlags(options{dir: "/d", extra: []string{given}}, "http://etcd")
	modes := slices.DeleteFunc(slices.Clone(got), func(f string) bool { return !strings.HasPrefix(f, "--authorization-mode") })
	if !slices.Equal(modes, []string{given}) {
		t.Errorf("authorization modes are %q", modes)
	}
}

func TestDisabledAdmissionPluginsAccumulate(t *testing.T) {
	const byDefault, given = "--disable-admission-plugins=ServiceAccount", "--disable-admission-plugins=Priority"
	got := apiserverFlags(options{dir: "/d", extra: []string{given}}, "http://etcd")
	if !slices.Contains(got, byDefault) || !slices.Contains(got, given) {
		t.Errorf("flags are %q", got)
	}
	got = apiserverFlags(options{dir: "/d", controllers: true}, "http://etcd")
	if slices.Contains(got, byDefault) {
		t.Error("the ServiceAccount plugin is disabled although controllers create service accounts")
	}
}
