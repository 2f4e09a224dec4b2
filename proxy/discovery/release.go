package discovery

import (
	"context"
	"errors"
	"fmt"

	utilversion "k8s.io/apimachinery/pkg/util/version"

	"sluice/codec"
	"sluice/codec/json"
)

// ErrUpgraded is returned by VerifyRelease if a store that was built by a Description must be rebuilt.
var ErrUpgraded = errors.New("the apiserver has been upgraded")

// release is the release of an apiserver, and the one that it emulates. Fields are nil if unknown.
type release struct{ program, emulated *utilversion.Version }

// release reads the release of the apiserver. It is unknown where that fails.
func (s server) release(ctx context.Context) (r release) {
	info, _, err := s.upstream.Version(ctx)
	if err != nil {
		return r
	}
	r.program, _ = utilversion.ParseGeneric(info.GitVersion)
	r.emulated, _ = utilversion.ParseGeneric(info.EmulationMajor + "." + info.EmulationMinor)
	return r
}

// minor returns 38 for Kubernetes 1.38, and 0 for an unknown release.
func (r release) minor() int {
	if r.program == nil {
		return 0
	}
	return int(r.program.Minor())
}

// newer reports whether r is a newer release than was.
func (r release) newer(was release) bool {
	return above(r.program, was.program) || above(r.emulated, was.emulated)
}

func above(now, was *utilversion.Version) bool { return now != nil && was != nil && was.LessThan(now) }

// VerifyRelease returns ErrUpgraded if the apiserver is of a newer release than when the store was built
// that was built by was: objects that were stored long ago may now be printed with other fields, such as new
// ones with their defaults, although their resource versions are the same.
//
// An older release is not looked for. While several apiservers are upgraded one by one, a watch may lead to
// either, and the store would be rebuilt again and again.
func (d *Discovery) VerifyRelease(ctx context.Context, was *Description) error {
	if now := d.release(ctx); now.newer(was.release) {
		return fmt.Errorf("from %v to %v: %w", was.release.program, now.program, ErrUpgraded)
	}
	return nil
}

// A growth is a field that a kind prints even if it is empty, from a release on.
type growth struct {
	field string
	since *utilversion.Version
}

// grown are the kinds of which a supported release lacks such a field. The schema, which has it, would print it
// in objects of that release.
var grown = map[string]growth{
	"storage.k8s.io/v1 CSINode": {"status", utilversion.MustParseGeneric("1.37")},
}

// outgrown reports whether the schema of a kind prints a field that the apiserver does not print: judged by
// the first object or, if there is none, by the release.
func (out *Description) outgrown(list json.Value) bool {
	r := &out.Resource
	g, ok := grown[r.APIVersion()+" "+r.Kind]
	if !ok || r.Style != codec.Typed {
		return false
	}
	for _, first := range list.Get("items").Elements {
		return first.Get(g.field) == nil
	}
	return out.release.program == nil || out.release.program.LessThan(g.since)
}
