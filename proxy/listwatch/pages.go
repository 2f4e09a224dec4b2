package listwatch

import (
	"context"
	"errors"
	"fmt"
	"math"
	"net/http"
	"net/url"
	"strconv"

	"sluice/proxy/upstream"
)

const (
	// firstPage is how many objects the first page of a list has at most, and pageSize how many the others. Of metadata they have
	// up to metadataPage: an apiserver that reads a page from etcd has all of its objects in memory.
	firstPage, pageSize, metadataPage = 50, 500, 2_000
	// pageBytes is about how long a page is at most: it is in memory besides the objects that are made of it, and many resources
	// are listed at the same time.
	pageBytes = 4 << 20
	// maxPageBytes bounds a page, whatever its objects are; only a single object may be longer.
	maxPageBytes = 2 * pageBytes
	// shrink divides the size of a page that is too long.
	shrink = 4
)

// nextPage returns how many objects to request after a page of some objects that has a length in bytes.
func nextPage(objects, length int) int {
	return max(1, max(1, objects)*pageBytes/max(length, 1))
}

// pager reads a list page by page. Writers of objects choose their length and order: so a page is
// at most twice the size of the one before it, and one that is too long is requested again with fewer objects.
type pager struct {
	client *Client
	accept string
	size   int // of the next page
	most   int // of a page
	length int // of all pages, of those that were too long the part that was read
}

// read calls page with each response to a query. It returns the resource version that all pages have.
func (p *pager) read(ctx context.Context, query url.Values, page func(http.Header, []byte) (list, error)) (version uint64, err error) {
	for {
		query.Set("limit", strconv.Itoa(p.size))
		most := int64(maxPageBytes)
		if p.size == 1 {
			most = math.MaxInt64
		}
		body, header, err := p.client.upstream.GetUpTo(ctx, p.client.path, query, p.accept, most)
		if errors.Is(err, upstream.ErrTooLong) && p.size > 1 {
			p.length += maxPageBytes
			p.size = max(1, min(p.size/shrink, firstPage))
			continue
		}
		if err != nil {
			return 0, err
		}
		p.length += len(body)
		l, err := page(header, body)
		switch {
		case err != nil:
			return 0, err
		case version > 0 && l.version != version:
			return 0, fmt.Errorf("list at version %d continues at version %d", version, l.version)
		case l.continues == "":
			return l.version, nil
		}
		version = l.version
		p.size = min(nextPage(p.size, len(body)), 2*p.size, p.most)
		query = url.Values{"continue": {l.continues}}
	}
}

// pagesOfMetadata returns a pager for the metadata of objects, whose first page has some objects at most.
func (c *Client) pagesOfMetadata(first int) *pager {
	return &pager{client: c, accept: c.acceptMetadata("PartialObjectMetadataList"), size: first, most: metadataPage}
}

// readMetadata is read that calls add with the metadata of each object.
func (p *pager) readMetadata(ctx context.Context, query url.Values, add func(metadata) error) (version uint64, err error) {
	return p.read(ctx, query, func(header http.Header, body []byte) (list, error) {
		e, err := encodingOf(header)
		if err != nil {
			return list{}, err
		}
		page, err := e.list(body)
		if err != nil {
			return list{}, err
		}
		for item, err := range page.items {
			if err != nil {
				return list{}, err
			}
			meta, err := e.metadata(item)
			if err != nil {
				return list{}, err
			}
			meta.object = item
			if err := add(meta); err != nil {
				return list{}, err
			}
		}
		return page, nil
	})
}
