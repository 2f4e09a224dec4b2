package compare

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"net/url"
	"slices"
	"strconv"
	"strings"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/client-go/rest"

	"sluice/proxy/request"
)

// Options names the resource and its two servers.
type Options struct {
	Sluice, Apiserver *rest.Config
	Namespace         string // empty means all
	// Patience is how long to wait until the cache serves a resource, and has a state that the apiserver still knows.
	Patience time.Duration
	// Silence is how long a server may send neither an answer nor an object; 0 means a minute.
	Silence time.Duration
}

// again is the time between two looks.
const again = 500 * time.Millisecond

// page is how many objects the apiserver is asked for at once.
const page = "500"

// Run compares resources by their names as kubectl takes them, such as pods or deployments.apps. It compares none if it does
// not know one. Else there may be results of some beside an error about others.
func Run(ctx context.Context, o Options, names []string) (*Verification, error) {
	sluice, err := newEndpoint(o.Sluice)
	if err != nil {
		return nil, err
	}
	apiserver, err := newEndpoint(o.Apiserver)
	if err != nil {
		return nil, err
	}
	sluice.silence = cmp.Or(o.Silence, time.Minute)
	apiserver.silence = sluice.silence
	brief, cancel := context.WithTimeout(ctx, sluice.silence)
	defer cancel()
	all, err := discover(brief, o.Apiserver)
	if err != nil {
		return nil, err
	}
	v := &Verification{APIVersion: "sluice/v1alpha1", Kind: "Verification", Items: []Result{}}
	var failed []error
	var resources []schema.GroupVersionResource
	for _, name := range names {
		r, err := find(all, name)
		if err != nil {
			failed = append(failed, err)
		}
		resources = append(resources, r)
	}
	if failed != nil {
		return v, errors.Join(failed...)
	}
	for _, r := range resources {
		name := strings.TrimSuffix(r.Resource+"."+r.Version+"."+r.Group, ".")
		c := comparison{sluice, apiserver, o.path(r)}
		result, err := c.run(ctx, o.Patience)
		if err != nil {
			failed = append(failed, fmt.Errorf("%s: %w", name, err))
			continue
		}
		result.Resource = name
		v.Items = append(v.Items, *result)
	}
	return v, errors.Join(failed...)
}

// path returns the path of a resource.
func (o *Options) path(r schema.GroupVersionResource) string {
	path := request.GroupVersionPath(r.Group, r.Version)
	if o.Namespace != "" {
		path += "/namespaces/" + o.Namespace
	}
	return path + "/" + r.Resource
}

// comparison compares one resource.
type comparison struct {
	sluice, apiserver *endpoint
	path              string
}

var errPasses = errors.New("nothing to compare: Sluice does not serve it from its cache; sluice why says why")

var errChanges = errors.New("other objects differ at each look, so that no difference is confirmed")

// run looks until there is a result. Only objects that differ in two looks, one after the other, differ: while etcd deletes
// several objects at one version, as when a lease expires, two lists of that version may differ.
func (c *comparison) run(ctx context.Context, patience time.Duration) (*Result, error) {
	until := time.Now().Add(patience)
	var before map[Difference]bool
	for {
		r, err := c.look(ctx)
		var now map[Difference]bool
		if err == nil {
			if now = r.objects(); before != nil && r.keep(before) || len(now) == 0 {
				return r, nil
			}
			if before != nil {
				err = errChanges
			}
			before = now
		}
		if err != nil && (!temporary(err) || time.Now().After(until)) {
			return nil, err
		}
		select {
		case <-ctx.Done():
			return nil, ctx.Err()
		case <-time.After(again):
		}
	}
}

// temporary reports whether another look may end otherwise: once a cache is filled, it serves, and has a later version.
func temporary(err error) bool {
	return errors.Is(err, errPasses) || errors.Is(err, errChanges) || apierrors.IsResourceExpired(err) || apierrors.IsGone(err) ||
		apierrors.IsTimeout(err) || apierrors.IsTooManyRequests(err) || apierrors.IsServiceUnavailable(err)
}

// look lists the cache, and the same version at the apiserver.
func (c *comparison) look(ctx context.Context) (*Result, error) {
	r, cached := newResult(), map[string]listed{}
	list, err := c.sluice.list(ctx, c.path, url.Values{"resourceVersion": {"0"}}, func(key string, o object) {
		if _, twice := cached[key]; twice {
			r.Extra = append(r.Extra, newDifference(key, o.version, ""))
			return
		}
		cached[key] = listed{object: o}
	})
	switch {
	case err != nil:
		return nil, fmt.Errorf("at Sluice: %w", err)
	case c.sluice.asOf == "":
		return nil, errPasses
	}
	r.ResourceVersion, r.AgeSeconds = list.version, Age(c.sluice.asOf)
	q := url.Values{"resourceVersion": {list.version}, "resourceVersionMatch": {"Exact"}, "limit": {page}}
	for q != nil {
		list, err := c.apiserver.list(ctx, c.path, q, func(key string, o object) { r.compare(key, o, cached) })
		switch {
		case err != nil:
			return nil, fmt.Errorf("at the apiserver: %w", err)
		case list.version != r.ResourceVersion:
			return nil, fmt.Errorf("the apiserver shows version %s instead of %s", list.version, r.ResourceVersion)
		case c.apiserver.asOf != "":
			return nil, errors.New("--against is not the apiserver: a Sluice answers there")
		}
		if q = nil; list.continues != "" {
			q = url.Values{"continue": {list.continues}, "limit": {page}}
		}
	}
	for key, o := range cached {
		if !o.seen {
			r.Extra = append(r.Extra, newDifference(key, o.version, ""))
		}
	}
	for _, all := range [][]Difference{r.Missing, r.Extra, r.Different} {
		slices.SortFunc(all, func(a, b Difference) int {
			return cmp.Or(strings.Compare(a.Namespace, b.Namespace), strings.Compare(a.Name, b.Name))
		})
	}
	return r, nil
}

// listed is an object that a list has.
type listed struct {
	object
	seen bool // at the apiserver
}

// compare compares an object of the apiserver with the cached one. An object that moves between pages may come twice.
func (r *Result) compare(key string, o object, cached map[string]listed) {
	is, found := cached[key]
	if is.seen {
		return
	}
	r.Objects++
	cached[key] = listed{is.object, true}
	switch {
	case !found:
		r.Missing = append(r.Missing, newDifference(key, "", o.version))
	case is.object != o:
		r.Different = append(r.Different, newDifference(key, is.version, o.version))
	}
}

// Age returns how many seconds old a state is, by the request.AsOfHeader of an answer; nil if that does not say.
func Age(asOf string) *float64 {
	_, rest, _ := strings.Cut(asOf, "; age=")
	text, _, _ := strings.Cut(rest, ";")
	v, err := strconv.ParseFloat(text, 64)
	if err != nil {
		return nil
	}
	return &v
}
