package pressure

import (
	"testing"

	"sluice/test/harness"
)

// The connections to the apiserver are gone, but nothing says so: no FIN, no reset. Pings notice it, and
// meanwhile nothing is called recent that is not.
func TestPingsNoticeConnectionsThatAreGone(t *testing.T) {
	t.Setenv("HTTP2_READ_IDLE_TIMEOUT_SECONDS", "2")
	t.Setenv("HTTP2_PING_TIMEOUT_SECONDS", "1")
	path := createConfigMaps(t, 3, 1000)
	r := startSluice(t)
	r.WaitForCacheSync(t, configMaps, "configmaps.v1")
	readAll(t, r, 1, 0, "")
	r.link.Abandon()
	version := write(t, path, "unseen")
	harness.Eventually(t, "the cache shows what was written", func() error {
		return readAll(t, r, 1, version, "unseen").onlyServed()
	})
}
