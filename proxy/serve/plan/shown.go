package plan

import (
	"crypto/sha256"
	"fmt"
	"net/http"
	"slices"
	"sync"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/utils/lru"

	"sluice/codec/negotiate"
	"sluice/proxy/message"
	"sluice/proxy/request"
	"sluice/proxy/serve/outcome"
)

// maxShown is how many reads are remembered, each about 250 bytes of memory.
const maxShown = 20_000

// Shown remembers which namespaces the lists and initial events of a caller have shown, and whether in whole. A page, or a watch
// from a version, goes on only from a list of the same: objects of other namespaces would be missing, or stay, at its client for
// ever, and so would the rest of objects in part, which the client may write now.
type Shown struct {
	mu    sync.Mutex // makes an update of an entry one step
	known *lru.Cache // of shown by readKey
}

type readKey [sha256.Size]byte

// shown is what a read shows, as a digest, in all versions from since on.
type shown struct {
	what  [sha256.Size]byte
	since uint64
}

// NewShown returns an empty Shown.
func NewShown() *Shown { return &Shown{known: lru.New(maxShown)} }

func digestOf(read *request.Read) [sha256.Size]byte {
	return sha256.Sum256(fmt.Appendf(nil, "%t %q %t", read.Namespaces == nil, read.Namespaces, read.Unwritten))
}

// keyOf identifies the reads with a verb by the caller of a plan that show the same.
func keyOf(p *Plan, verb string) readKey {
	u := p.Info.Acting
	if p.Info.Impersonated != nil {
		u = p.Info.Impersonated
	}
	policy := p.written || p.Read.Unwritten
	text := fmt.Appendf(nil, "%s %q %q %q %t", verb, p.Read.GroupVersionResource, p.Read.Namespace, p.Read.RequiredName(), policy)
	if u != nil {
		text = fmt.Appendf(text, " %q %q", u.GetName(), u.GetGroups())
	}
	return sha256.Sum256(text)
}

// goesOn reports whether the same has been shown for a key at a version, and whether anything has been.
func (s *Shown) goesOn(key readKey, what [sha256.Size]byte, version uint64) (goesOn, known bool) {
	last, known := s.known.Get(key)
	return known && last.(shown).what == what && last.(shown).since <= version, known
}

// show takes note of what a read shows at a version.
func (s *Shown) show(key readKey, what [sha256.Size]byte, version uint64) {
	s.mu.Lock()
	defer s.mu.Unlock()
	now := shown{what, version}
	if last, ok := s.known.Get(key); ok && last.(shown).what == what && last.(shown).since < version {
		now = last.(shown)
	}
	s.known.Add(key, now)
}

// ShownAt takes note that the read shows a state from its first object on.
func (p *Plan) ShownAt(version uint64) {
	if p.shown != nil {
		p.shown(version)
	}
}

// left takes note that a client has something else than was shown last for a key, up to a version.
func (s *Shown) left(key readKey, what [sha256.Size]byte, version uint64) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if last, ok := s.known.Get(key); ok && last.(shown).what != what && last.(shown).since <= version {
		s.known.Add(key, shown{last.(shown).what, version + 1})
	}
}

// LeftAt takes note that a watch ends at a version from which its client may go on. The watch may have outlived the rights of its
// caller until its next recheck.
func (p *Plan) LeftAt(version uint64) {
	s := p.memory
	if s == nil || s.known.Len() == 0 || !p.Read.Across() && !p.Read.Unwritten && !p.written {
		return
	}
	lists := *p.Read
	if lists.Listed != nil {
		lists.Namespaces = lists.Listed
	}
	s.left(keyOf(p, "list"), digestOf(&lists), version)
	s.left(keyOf(p, "watch"), digestOf(p.Read), version)
}

// follow returns why a page, or a watch from a version, does not follow from what its client knows. It may follow reads of
// other namespaces although it is one of all of them, and reads of parts although it is one of whole objects.
func (o *Options) follow(r *http.Request, p *Plan) error {
	s := o.Shown
	bound := p.Some() || p.written
	if s == nil || p.Verb == negotiate.Get || !bound && (!p.Read.Across() && !p.Read.Unwritten || s.known.Len() == 0) {
		return nil
	}
	key, what := keyOf(p, p.Read.Verb), digestOf(p.Read)
	goesOn, _ := s.goesOn(key, what, p.Version)
	listsGoOn, known := s.goesOn(keyOf(p, "list"), what, p.Version)
	if _, watched := s.goesOn(keyOf(p, "watch"), what, p.Version); !known && !watched && !bound {
		return nil
	}
	got := p.Some() && p.Read.OfNamespaces() // by the right to get them, which shows nothing of the past
	expired := &outcome.Refused{Reason: outcome.VersionBeforeHistory, Err: apierrors.NewResourceExpired(message.RightsChanged.Say())}
	switch {
	case p.Options.Continue != "":
		if !goesOn && (known || got) {
			return expired
		}
	case p.Verb == negotiate.Watch && !p.InitialEvents && p.Match == MatchExact:
		if p.Some() && !goesOn { // the caller may list others than it may watch
			decision, lists := p.Info.Decision, *p.Read
			lists.Verb = "list"
			listed, err := o.Access.MayReadSome(r, &lists)
			p.Info.Decision = decision
			if err != nil {
				return unreviewed()
			}
			if listsGoOn = false; listed != nil {
				listsGoOn, _ = s.goesOn(keyOf(p, "list"), digestOf(listed), p.Version)
				p.Read = watchAfter(p.Read, listed)
			}
		}
		if !goesOn && !listsGoOn {
			return expired
		}
	case p.Match != MatchExact:
		// Its version is to be later than that of everything else that has been shown: rights have changed since.
		if last, known := s.known.Get(key); !known || last.(shown).what != what || last.(shown).since > p.Resource.Store.Snapshot().Version {
			p.Match, p.ProvenFirst = MatchMostRecent, true
		}
		p.shown = func(version uint64) { s.show(key, what, version) }
	case got && !goesOn:
		return expired
	}
	return nil
}

// watchAfter returns a watch of some namespaces that follows a list.
func watchAfter(watch, list *request.Read) *request.Read {
	if slices.Equal(watch.Namespaces, list.Namespaces) {
		return watch
	}
	after := *watch
	after.Listed = list.Namespaces
	return &after
}
