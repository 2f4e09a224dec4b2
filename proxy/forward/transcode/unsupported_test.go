package transcode

import (
	"fmt"
	"testing"
)

func TestRememberedAPIsAreBounded(t *testing.T) {
	u := New().unsupported
	for i := range maxUnsupported + 10 {
		u.Add(fmt.Sprint(i), nil, unsupportedFor)
	}
	if n := len(u.Keys()); n != maxUnsupported {
		t.Errorf("%d APIs are remembered", n)
	}
}
