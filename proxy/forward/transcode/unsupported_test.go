package transcode

import (
	"fmt"
	"testing"
	"time"
)

func TestRememberedAPIsAreBounded(t *testing.T) {
	now := time.Unix(0, 0)
	u := unsupportedFormats{now: func() time.Time { return now }}
	for i := range maxUnsupported + 10 {
		u.add(fmt.Sprint(i))
	}
	if len(u.until) != maxUnsupported || !u.has("0") || u.has(fmt.Sprint(maxUnsupported)) {
		t.Errorf("%d APIs are remembered", len(u.until))
	}
	now = now.Add(unsupportedFor)
	u.add("new")
	if len(u.until) != 1 || !u.has("new") || u.has("0") {
		t.Errorf("%d APIs are remembered after their time", len(u.until))
	}
}
