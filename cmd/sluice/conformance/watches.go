package conformance

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"strconv"
	"time"

	"golang.org/x/sync/errgroup"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

const (
	// shortWatch is how long a watch lasts whose end is awaited.
	shortWatch = 2 * time.Second
	// manyWatches are opened side by side, as many as a manager of controllers opens.
	manyWatches = 20
)

func seconds(d time.Duration) string { return strconv.Itoa(int(d / time.Second)) }

// long is how long a watch lasts whose end is not awaited.
func (p *probe) long() time.Duration { return 3 * p.Patience }

// quiet opens a watch in which nothing happens.
func (p *probe) quiet(ctx context.Context, lasts, wait time.Duration) (*stream, error) {
	return p.watch(ctx, p.on.path("watch", "true", "resourceVersion", p.on.page.ResourceVersion,
		"fieldSelector", byName(nobody), "timeoutSeconds", seconds(lasts)), nil, wait)
}

func checkHeader(ctx context.Context, p *probe) (string, error) {
	_, err := p.quiet(ctx, p.long(), p.Patience)
	return "the header, and no event", err
}

func checkMany(ctx context.Context, p *probe) (string, error) {
	var group errgroup.Group
	for range manyWatches {
		group.Go(func() error {
			_, err := p.quiet(ctx, p.long(), p.Patience)
			return err
		})
	}
	return fmt.Sprintf("%d headers", manyWatches), group.Wait()
}

func checkFirstEvent(ctx context.Context, p *probe) (string, error) { return p.firstEvent(ctx, nil) }

func checkMetadataEvents(ctx context.Context, p *probe) (string, error) {
	return p.firstEvent(ctx, as("PartialObjectMetadata"))
}

// firstEvent watches one object that is there.
func (p *probe) firstEvent(ctx context.Context, header http.Header) (string, error) {
	s, err := p.watch(ctx, p.on.path("watch", "true", "resourceVersion", "0", "fieldSelector", byName(p.on.oldest().Name),
		"timeoutSeconds", seconds(p.long())), header, p.Patience)
	if err != nil {
		return "", err
	}
	e, err := s.next(time.After(p.Patience))
	switch {
	case errors.Is(err, errLate):
		return "", fmt.Errorf("no event within %s, though an object is there: it is held back", p.Patience)
	case err != nil:
		return "", err
	case header != nil && e.Object.Kind != "PartialObjectMetadata":
		return "", fmt.Errorf("a %s: the Accept header was lost, or its parameters", e.Object.Kind)
	}
	return e.Type + " " + e.Object.Name, nil
}

func checkVersion(ctx context.Context, p *probe) (string, error) {
	l, err := p.list(ctx, "limit", "1")
	if err != nil {
		return "", err
	}
	s, err := p.watch(ctx, p.on.path("watch", "true", "resourceVersion", l.ResourceVersion,
		"timeoutSeconds", seconds(shortWatch)), nil, p.Patience)
	if err != nil {
		return "", err
	}
	events, err := s.end(time.After(shortWatch + p.Patience))
	if refused(err).code != 0 {
		return "", err
	}
	from, _ := strconv.ParseUint(l.ResourceVersion, 10, 64)
	for _, e := range events {
		if version, err := strconv.ParseUint(e.Object.ResourceVersion, 10, 64); err == nil && version <= from {
			return "", fmt.Errorf("%s %s of version %d, though the watch began at %d: resourceVersion was lost", e.Type, e.Object.Name,
				version, from)
		}
	}
	return fmt.Sprintf("%d events after version %d", len(events), from), nil
}

func checkEnd(ctx context.Context, p *probe) (string, error) { return p.lasts(ctx, shortWatch) }

func checkIdle(ctx context.Context, p *probe) (string, error) { return p.lasts(ctx, p.Idle) }

// lasts waits for the end of a watch in which nothing happens.
func (p *probe) lasts(ctx context.Context, d time.Duration) (string, error) {
	begin := time.Now()
	s, err := p.quiet(ctx, d, d+p.Patience)
	if err != nil {
		return "", err
	}
	_, err = s.end(time.After(d + p.Patience))
	after := time.Since(begin).Round(time.Second)
	switch {
	case errors.Is(err, errLate):
		return "", fmt.Errorf("no end within %s: timeoutSeconds was lost, or the end", d+p.Patience)
	case !errors.Is(err, io.EOF):
		return "", fmt.Errorf("cut after %s: %w", after, err)
	case after < d-time.Second:
		return "", fmt.Errorf("ended after %s, not %s", after, d)
	}
	return fmt.Sprintf("ended after %s", after), nil
}

func checkStreaming(ctx context.Context, p *probe) (string, error) {
	objects, version, err := p.stream(ctx)
	switch code := refused(err).code; {
	case code == http.StatusBadRequest || code == http.StatusUnprocessableEntity:
		return "", costly(fmt.Sprintf("refused with %d: clients list and watch instead", code))
	case errors.Is(err, errLate):
		return "", fmt.Errorf("%d objects, and no bookmark within %s: bookmarks are withheld, or their annotation", len(objects),
			p.Patience)
	case errors.Is(err, io.EOF):
		return "", fmt.Errorf("%d objects and the end, without the bookmark", len(objects))
	}
	return fmt.Sprintf("%d objects, then the bookmark of version %s", len(objects), version), err
}

// selected are the options that keep streaming lists short: of very many objects, one.
func (p *probe) selected() []string {
	if p.on.page.Continue == "" {
		return nil
	}
	return []string{"fieldSelector", byName(p.on.oldest().Name)}
}

// stream reads a streaming list up to its bookmark. It returns the versions of the objects by their names.
func (p *probe) stream(ctx context.Context) (objects map[string]string, version string, err error) {
	options := append(p.selected(), "watch", "true", "sendInitialEvents", "true", "resourceVersionMatch", "NotOlderThan",
		"allowWatchBookmarks", "true", "timeoutSeconds", seconds(p.long()))
	s, err := p.watch(ctx, p.on.path(options...), nil, p.Patience)
	if err != nil {
		return nil, "", err
	}
	objects = map[string]string{}
	for late := time.After(p.Patience); ; {
		e, err := s.next(late)
		o := e.Object
		switch {
		case err != nil:
			return objects, "", err
		case e.Type == "BOOKMARK" && o.Annotations[metav1.InitialEventsAnnotationKey] == "true":
			return objects, o.ResourceVersion, nil
		case e.Type == "DELETED":
			delete(objects, o.Namespace+"/"+o.Name)
		case e.Type != "BOOKMARK":
			objects[o.Namespace+"/"+o.Name] = o.ResourceVersion
		}
	}
}
