package request

import (
	"errors"
	"fmt"
	"net/url"
	"strconv"
	"strings"
	"time"
)

// ListOptions are the query parameters of a list or watch (ListOptions of the
// API), by the apiserver's rules: of repeated parameters the first counts.
type ListOptions struct {
	ResourceVersion      string
	ResourceVersionMatch string
	Continue             string
	LabelSelector        string
	FieldSelector        string
	ShardSelector        string
	Limit                int64
	Timeout              time.Duration // timeoutSeconds; 0 when absent
	AllowBookmarks       bool          // allowWatchBookmarks
	SendInitialEvents    *bool
	IncludeObject        string
	Pretty               string
}

// ErrInvalidOptions is returned for parameters that the apiserver would refuse.
var ErrInvalidOptions = errors.New("invalid query parameter")

// ParseListOptions reads the options from a query. An error wraps ErrInvalidOptions.
func ParseListOptions(q url.Values) (ListOptions, error) {
	o := ListOptions{
		ResourceVersion:      q.Get("resourceVersion"),
		ResourceVersionMatch: q.Get("resourceVersionMatch"),
		Continue:             q.Get("continue"),
		LabelSelector:        q.Get("labelSelector"),
		FieldSelector:        q.Get("fieldSelector"),
		ShardSelector:        q.Get("shardSelector"),
		IncludeObject:        q.Get("includeObject"),
		Pretty:               q.Get("pretty"),
		AllowBookmarks:       truth(q, "allowWatchBookmarks"),
	}
	if q.Has("sendInitialEvents") {
		v := truth(q, "sendInitialEvents")
		o.SendInitialEvents = &v
	}
	var err error
	if o.Limit, err = integer(q, "limit"); err != nil {
		return o, err
	}
	seconds, err := integer(q, "timeoutSeconds")
	if err != nil {
		return o, err
	}
	o.Timeout = time.Duration(seconds) * time.Second
	if o.Timeout/time.Second != time.Duration(seconds) {
		return o, fmt.Errorf("timeoutSeconds %d: %w", seconds, ErrInvalidOptions)
	}
	return o, checkTimeout(q.Get("timeout"))
}

// truth reads a boolean: present means true, unless it is 0 or false.
func truth(q url.Values, name string) bool {
	v := q.Get(name)
	return q.Has(name) && v != "0" && !strings.EqualFold(v, "false")
}

func integer(q url.Values, name string) (int64, error) {
	if !q.Has(name) {
		return 0, nil
	}
	v := q.Get(name)
	n, err := strconv.ParseInt(v, 10, 64)
	if err != nil {
		return 0, fmt.Errorf("%s %q: %w", name, v, ErrInvalidOptions)
	}
	return n, nil
}

// checkTimeout checks the request's own deadline. An answer out of memory is
// there before any that is not refused.
func checkTimeout(v string) error {
	if v == "" {
		return nil
	}
	if d, err := time.ParseDuration(v); err != nil || (d > 0 && d < time.Second) {
		return fmt.Errorf("timeout %q: %w", v, ErrInvalidOptions)
	}
	return nil
}
