package review

import (
	"crypto/tls"
	"fmt"
	"net/url"
	"os"
	"strings"
	"sync"
	"testing"
	"time"

	"golang.org/x/net/http2"
	"golang.org/x/net/http2/hpack"

	"sluice/test/harness"
)

var plane *harness.ControlPlane

func TestMain(m *testing.M) {
	harness.Main(m, 2, func(m *testing.M) (int, error) {
		var err error
		if plane, err = harness.StartMain(); err != nil {
			return 1, err
		}
		defer plane.Stop()
		return m.Run(), nil
	})
}

func rss(pid int) int {
	b, _ := os.ReadFile(fmt.Sprintf("/proc/%d/status", pid))
	for _, l := range strings.Split(string(b), "\n") {
		if v, ok := strings.CutPrefix(l, "VmRSS:"); ok {
			var kb int
			fmt.Sscan(v, &kb)
			return kb >> 10
		}
	}
	return 0
}

// attack: conns connections, each with streams requests with header bytes, and body bytes of DATA on the first
func attack(t *testing.T, s *harness.Sluice, conns, streams, header, body int, token bool) {
	u, _ := url.Parse(s.URL)
	var wg sync.WaitGroup
	var all []*tls.Conn
	var mu sync.Mutex
	for i := range conns {
		wg.Go(func() {
			c, err := tls.Dial("tcp", u.Host, &tls.Config{InsecureSkipVerify: true, NextProtos: []string{"h2"}})
			if err != nil {
				t.Log(err)
				return
			}
			mu.Lock()
			all = append(all, c)
			mu.Unlock()
			c.SetWriteDeadline(time.Now().Add(20 * time.Second))
			c.Write([]byte(http2.ClientPreface))
			f := http2.NewFramer(c, c)
			f.WriteSettings(http2.Setting{ID: http2.SettingInitialWindowSize, Val: 0})
			go func() {
				if os.Getenv("TALLY") == "" {
					buf := make([]byte, 64<<10)
					for {
						if _, err := c.Read(buf); err != nil {
							return
						}
					}
				}
			}()
			for n := range streams {
				var b strings.Builder
				e := hpack.NewEncoder(&b)
				method, path := "GET", "/api/v1/pods"
				if body > 0 {
					method, path = "POST", "/api/v1/namespaces/default/pods"
				}
				for _, h := range [][2]string{{":method", method}, {":scheme", "https"}, {":authority", u.Host}, {":path", path}} {
					e.WriteField(hpack.HeaderField{Name: h[0], Value: h[1]})
				}
				if token {
					e.WriteField(hpack.HeaderField{Name: "authorization", Value: fmt.Sprintf("Bearer x%d-%d", i, n)})
				}
				for left := header; left > 0; left -= 8000 {
					e.WriteField(hpack.HeaderField{Name: fmt.Sprint("x-", left), Value: strings.Repeat("\x7f"[:0]+"~", min(left, 8000)), Sensitive: true})
				}
				block := []byte(b.String())
				id := uint32(2*n + 1)
				first := block[:min(len(block), 16000)]
				block = block[len(first):]
				f.WriteHeaders(http2.HeadersFrameParam{StreamID: id, BlockFragment: first, EndStream: body == 0, EndHeaders: len(block) == 0})
				for len(block) > 0 {
					p := block[:min(len(block), 16000)]
					block = block[len(p):]
					f.WriteContinuation(id, len(block) == 0, p)
				}
				for left := body; left > 0; left -= 16000 {
					if f.WriteData(id, false, make([]byte, min(left, 16000))) != nil {
						return
					}
				}
			}
		})
	}
	wg.Wait()
	for _, d := range []time.Duration{1, 3, 4} {
		time.Sleep(d * time.Second)
		m, _ := s.AdminGet("/metrics")
		var used []string
		for _, l := range strings.Split(m, "\n") {
			if strings.HasPrefix(l, `sluice_account_used{resource="unv`) || strings.HasPrefix(l, `sluice_account_used{resource="str`) || strings.HasPrefix(l, "go_goroutines") || strings.HasPrefix(l, "go_memstats_heap_inuse") {
				used = append(used, l)
			}
		}
		t.Logf("rss %d MiB %v", rss(s.PID()), used)
	}
	for _, c := range all {
		c.Close()
	}
}

const cfg = "apiVersion: sluice/v1alpha1\nkind: Configuration\nlimits: {memory: 268435456}\n"

func TestHeaders(t *testing.T) {
	s := plane.StartSluice(t, harness.SluiceOptions{Binary: "sluice", Config: cfg})
	t.Logf("before %d MiB", rss(s.PID()))
	attack(t, s, 100, 95, 50000, 0, false)
}

func TestTokenBodies(t *testing.T) {
	s := plane.StartSluice(t, harness.SluiceOptions{Binary: "sluice", Config: cfg})
	t.Logf("before %d MiB", rss(s.PID()))
	attack(t, s, 400, 1, 100, 1000000, true)
}

func TestOneHeaderEach(t *testing.T) {
	s := plane.StartSluice(t, harness.SluiceOptions{Binary: "sluice", Config: cfg})
	t.Logf("before %d MiB", rss(s.PID()))
	attack(t, s, 400, 1, 100, 0, true)
}
