package main

import (
	"slices"
	"strings"
	"testing"
)

func TestGivenFlagsReplaceOurs(t *testing.T) {
	const given = "--authorization-mode=AlwaysAllow"
	got := apiserverFlags(options{dir: "/d", extra: []string{given}}, "http://etcd")
	modes := slices.DeleteFunc(slices.Clone(got), func(f string) bool { return !strings.HasPrefix(f, "--authorization-mode") })
	if !slices.Equal(modes, []string{given}) {
		t.Errorf("authorization modes are %q", modes)
	}
}

func TestDisabledPluginsAddUp(t *testing.T) {
	const ours, given = "--disable-admission-plugins=ServiceAccount", "--disable-admission-plugins=Priority"
	got := apiserverFlags(options{dir: "/d", extra: []string{given}}, "http://etcd")
	if !slices.Contains(got, ours) || !slices.Contains(got, given) {
		t.Errorf("flags are %q", got)
	}
	got = apiserverFlags(options{dir: "/d", controllers: true}, "http://etcd")
	if slices.Contains(got, ours) {
		t.Error("controllers make service accounts, yet their admission plugin is off")
	}
}
