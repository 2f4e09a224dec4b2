package transcode

import "testing"

func TestOneUserCannotExhaustTheQuota(t *testing.T) {
	q := newQuota(100, 40)
	a, b := &reservation{quota: q, user: "a"}, &reservation{quota: q, user: "b"}
	if a.reserve(41) == nil || a.reserve(40) != nil || b.reserve(40) != nil || (&reservation{quota: q, user: "a"}).reserve(1) == nil {
		t.Errorf("used are %v", q.used)
	}
	a.release()
	b.release()
	if q.free != 100 || len(q.used) != 0 {
		t.Errorf("after release %d bytes are free, used are %v", q.free, q.used)
	}
}
