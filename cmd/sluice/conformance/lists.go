package conformance

import (
	"context"
	"errors"
	"fmt"
	"io"
	"maps"
	"net/http"
	"reflect"
	"slices"
	"strings"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

const (
	nobody = "sluice-verify-none" // a name that no object has
	early  = "1"                  // the first version there ever was
)

func byName(name string) string { return "metadata.name=" + name }

// list reads a list.
func (p *probe) list(ctx context.Context, options ...string) (l metav1.PartialObjectMetadataList, err error) {
	_, err = p.read(ctx, p.on.path(options...), nil, &l)
	return l, err
}

// exact are the options of a list at a version.
func exact(version string, options ...string) []string {
	return append(options, "resourceVersion", version, "resourceVersionMatch", "Exact")
}

func checkList(ctx context.Context, p *probe) (string, error) {
	l, err := p.list(ctx, "limit", pageLimit)
	if err == nil && (!strings.HasSuffix(l.Kind, "List") || l.ResourceVersion == "") {
		err = fmt.Errorf("kind %q at version %q", l.Kind, l.ResourceVersion)
	}
	return fmt.Sprintf("%d objects at version %s", len(l.Items), l.ResourceVersion), err
}

func checkErrors(ctx context.Context, p *probe) (string, error) {
	a, err := p.get(ctx, p.on.object(nobody), nil)
	if err != nil {
		return "", err
	}
	r := a.refusal()
	if int(r.status.Code) != r.code || r.code != http.StatusNotFound && r.code != http.StatusForbidden {
		return "", r
	}
	return r.text, nil
}

func checkPages(ctx context.Context, p *probe) (string, error) {
	if len(p.on.page.Items) < 2 {
		return "", skipped("one object has no pages")
	}
	one, err := p.list(ctx, "limit", "1")
	switch {
	case err != nil:
		return "", err
	case len(one.Items) != 1:
		return "", fmt.Errorf("%d objects for limit=1: the limit was lost", len(one.Items))
	case one.Continue == "":
		return "", errors.New("the first page came without a continue token")
	}
	two, err := p.list(ctx, "limit", "1", "continue", one.Continue)
	switch {
	case err != nil:
		return "", fmt.Errorf("the second page: %w", err)
	case two.ResourceVersion != one.ResourceVersion || len(two.Items) == 1 && two.Items[0].UID == one.Items[0].UID:
		return "", errors.New("the second page is the first, or of another version: the continue token was lost")
	}
	return "two pages of one version", nil
}

func checkMatch(ctx context.Context, p *probe) (string, error) {
	return p.invalid(ctx, "limit", "1", "resourceVersionMatch", "Exact")
}

func checkInitial(ctx context.Context, p *probe) (string, error) {
	return p.invalid(ctx, "watch", "true", "sendInitialEvents", "true", "timeoutSeconds", "1")
}

// invalid sends options that are refused by every server that receives and knows them.
func (p *probe) invalid(ctx context.Context, options ...string) (string, error) {
	a, err := p.get(ctx, p.on.path(options...), nil)
	switch {
	case err != nil:
		return "", err
	case a.StatusCode == http.StatusOK:
		return "", errors.New("200: the parameter was lost, or the apiserver does not know it")
	case a.StatusCode >= http.StatusInternalServerError:
		return "", a.refusal()
	}
	return "refused, as it must be, with " + a.Status, nil
}

func checkExact(ctx context.Context, p *probe) (string, error) {
	version := p.on.page.ResourceVersion
	l, err := p.list(ctx, exact(version, "limit", "1")...)
	if err == nil && l.ResourceVersion != version {
		err = fmt.Errorf("version %s, not %s", l.ResourceVersion, version)
	}
	return "version " + version, err
}

func checkSelectors(ctx context.Context, p *probe) (string, error) {
	name := p.on.oldest().Name
	none, err := p.list(ctx, "limit", "5", "labelSelector", "sluice.invalid/a in (b,c),!sluice.invalid/d")
	if err != nil {
		return "", fmt.Errorf("a label selector: %w", err)
	}
	one, err := p.list(ctx, "limit", "5", "fieldSelector", byName(name))
	switch {
	case err != nil:
		return "", fmt.Errorf("a field selector: %w", err)
	case len(none.Items) > 0:
		return "", errors.New("objects for a label that none has: labelSelector was lost")
	case slices.ContainsFunc(one.Items, func(o metav1.PartialObjectMetadata) bool { return o.Name != name }):
		return "", errors.New("objects of other names: fieldSelector was lost")
	}
	return "only what was selected", nil
}

// checkExpired reads what happened since the first version, which a young cluster still knows.
func checkExpired(ctx context.Context, p *probe) (string, error) {
	_, listed := p.list(ctx, exact(early, "limit", "1")...)
	if listed != nil && refused(listed).code != http.StatusGone {
		return "", fmt.Errorf("the list: %w", listed)
	}
	s, err := p.watch(ctx, p.on.path("watch", "true", "resourceVersion", early, "timeoutSeconds", "2"), nil, p.Patience)
	if err == nil {
		_, err = s.next(time.After(p.Patience))
	}
	switch {
	case errors.Is(err, io.EOF):
		return "", errors.New("the watch shows neither what has happened nor 410")
	case err != nil && refused(err).code != http.StatusGone:
		return "", fmt.Errorf("the watch: %w", err)
	case err == nil && listed == nil:
		return "nothing is forgotten since version 1", nil
	}
	return "410", nil
}

func checkStreamed(ctx context.Context, p *probe) (string, error) {
	streamed, version, err := p.stream(ctx)
	if err != nil {
		return "", skipped("no streaming list")
	}
	l, err := p.list(ctx, exact(version, p.selected()...)...)
	if err != nil {
		return "", skipped(fmt.Sprintf("no list at version %s: %v", version, err))
	}
	listed := map[string]string{}
	for _, o := range l.Items {
		listed[o.Namespace+"/"+o.Name] = o.ResourceVersion
	}
	if !maps.Equal(streamed, listed) {
		return "", fmt.Errorf("%d objects streamed and %d listed at version %s are not the same", len(streamed), len(listed), version)
	}
	return fmt.Sprintf("%d objects, the same in both", len(listed)), nil
}

// checkSame lists a page at one endpoint, and the same version at the other.
func checkSame(ctx context.Context, p *probe) (string, error) {
	var here, there struct {
		Metadata metav1.ListMeta
		Items    []any
	}
	if _, err := p.read(ctx, p.on.path("limit", pageLimit), nil, &here); err != nil {
		return "", err
	}
	version := here.Metadata.ResourceVersion
	other := &probe{Options: p.Options, client: p.Against}
	if _, err := other.read(ctx, p.on.path(exact(version, "limit", pageLimit)...), nil, &there); err != nil {
		return "", fmt.Errorf("version %s at the other endpoint: %w", version, err)
	}
	if !reflect.DeepEqual(here.Items, there.Items) {
		return "", fmt.Errorf("%d objects, %d at the other endpoint, not all the same, at version %s", len(here.Items),
			len(there.Items), version)
	}
	return fmt.Sprintf("%d objects of version %s, the same at both", len(here.Items), version), nil
}
