package request

import (
	"errors"
	"fmt"
	"net/url"
	"strconv"
	"strings"
	"time"
)

// ListOptions holds the query parameters of a list, watch or get: metav1.ListOptions, includeObject of
// metav1.TableOptions, and pretty. Of a repeated parameter the first value counts.
type ListOptions struct {
	ResourceVersion      string
	ResourceVersionMatch string
	Continue             string
	LabelSelector        string
	FieldSelector        string
	ShardSelector        string
	Limit                int64
	Timeout              time.Duration // timeoutSeconds; 0 if absent
	AllowBookmarks       bool          // allowWatchBookmarks
	SendInitialEvents    *bool
	IncludeObject        string
	Pretty               string
}

// ErrInvalidOptions is returned for parameters that the apiserver rejects.
var ErrInvalidOptions = errors.New("invalid query parameter")

// InitialEvents reports whether a watch with these options begins with the objects that exist. The apiserver takes 00 for 0.
func (o *ListOptions) InitialEvents() bool {
	if o.SendInitialEvents != nil {
		return *o.SendInitialEvents
	}
	version, err := strconv.ParseUint(o.ResourceVersion, 10, 64)
	return o.ResourceVersion == "" || err == nil && version == 0
}

// ParseListOptions parses a query as the apiserver does. An error wraps ErrInvalidOptions.
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
		AllowBookmarks:       boolean(q, "allowWatchBookmarks"),
	}
	if q.Has("sendInitialEvents") {
		v := boolean(q, "sendInitialEvents")
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

// boolean parses a parameter as apimachinery's conversion does: present means true, unless the value
// is 0 or, in any case, false.
func boolean(q url.Values, name string) bool {
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

// checkTimeout validates the parameter timeout, the deadline of the whole request. A valid timeout is
// at least a second, or not positive and so without effect; the cache responds sooner.
func checkTimeout(v string) error {
	if v == "" {
		return nil
	}
	if d, err := time.ParseDuration(v); err != nil || (d > 0 && d < time.Second) {
		return fmt.Errorf("timeout %q: %w", v, ErrInvalidOptions)
	}
	return nil
}
