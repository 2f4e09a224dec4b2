package plan

import (
	"crypto/sha256"
	"fmt"
	"net/http"
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

// Shown remembers which namespaces the lists and initial events of a caller have shown. A page, or a watch from a version, goes on
// only from a list of the same namespaces: objects of others would be missing, or stay, at its client for ever.
type Shown struct {
	mu    sync.Mutex // makes an update of an entry one step
	known *lru.Cache // of shown by readKey
}

type readKey [sha256.Size]byte

// shown are the namespaces that a read shows, as a digest, in all versions from since on.
type shown struct {
	namespaces [sha256.Size]byte
	since      uint64
}

// NewShown returns an empty Shown.
func NewShown() *Shown { return &Shown{known: lru.New(maxShown)} }

func namespacesOf(read *request.Read) [sha256.Size]byte {
	return sha256.Sum256(fmt.Appendf(nil, "%t %q", read.Namespaces == nil, read.Namespaces))
}

// keyOf identifies the reads with a verb by the caller of a plan that show the same namespaces.
func keyOf(p *Plan, verb string) readKey {
	u := p.Info.Acting
	if p.Info.Impersonated != nil {
		u = p.Info.Impersonated
	}
	text := fmt.Appendf(nil, "%s %q %q", verb, p.Read.GroupVersionResource, p.Read.RequiredName())
	if u != nil {
		text = fmt.Appendf(text, " %q %q", u.GetName(), u.GetGroups())
	}
	return sha256.Sum256(text)
}

// goesOn reports whether namespaces have been shown for a key at a version, and whether any have been.
func (s *Shown) goesOn(key readKey, namespaces [sha256.Size]byte, version uint64) (goesOn, known bool) {
	last, known := s.known.Get(key)
	return known && last.(shown).namespaces == namespaces && last.(shown).since <= version, known
}

// show takes note of the namespaces that a read shows at a version, which with exact may be a past one.
func (s *Shown) show(key readKey, namespaces [sha256.Size]byte, version uint64, exact bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	now := shown{namespaces, version}
	if last, ok := s.known.Get(key); ok && last.(shown).namespaces == namespaces && (exact || last.(shown).since < version) {
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

// follow returns why a page, or a watch from a version, does not follow from what its client knows. It may follow reads of
// other namespaces although it is one of all of them.
func (o *Options) follow(r *http.Request, p *Plan) error {
	s := o.Shown
	if s == nil || !p.Read.Across() || !p.Some() && s.known.Len() == 0 {
		return nil
	}
	key, namespaces := keyOf(p, p.Read.Verb), namespacesOf(p.Read)
	goesOn, _ := s.goesOn(key, namespaces, p.Version)
	listsGoOn, known := s.goesOn(keyOf(p, "list"), namespaces, p.Version)
	if _, watched := s.goesOn(keyOf(p, "watch"), namespaces, p.Version); !known && !watched && !p.Some() {
		return nil
	}
	expired := &outcome.Refused{Reason: outcome.VersionBeforeHistory, Err: apierrors.NewResourceExpired(message.NamespacesChanged.Say())}
	switch {
	case p.Options.Continue != "":
		if known && !goesOn {
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
			listsGoOn = listed != nil
			if listsGoOn {
				listsGoOn, _ = s.goesOn(keyOf(p, "list"), namespacesOf(listed), p.Version)
			}
		}
		if !goesOn && !listsGoOn {
			return expired
		}
	default:
		p.shown = func(version uint64) { s.show(key, namespaces, version, p.Match == MatchExact) }
	}
	return nil
}
