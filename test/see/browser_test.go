package see

import (
	"bufio"
	"encoding/json"
	"fmt"
	"os"
	"os/exec"
	"testing"
	"time"

	"sluice/test/harness"
)

// browser is a headless Chromium, driven by its DevTools protocol over pipes.
type browser struct {
	in      *os.File
	out     *bufio.Reader
	session string
	next    int
	loads   int      // pages that have loaded
	reports []string // of the console: errors of scripts, and of the policy
}

// openBrowser starts Chromium with one page. What that reports by the end of the test fails it. The test is skipped where
// Chromium is not installed.
func openBrowser(t *testing.T) *browser {
	t.Helper()
	path, err := exec.LookPath("chromium")
	if err != nil {
		t.Skip("chromium is not installed (Debian package chromium)")
	}
	theirIn, in, err := os.Pipe()
	if err != nil {
		t.Fatal(err)
	}
	out, theirOut, err := os.Pipe()
	if err != nil {
		t.Fatal(err)
	}
	profile, err := os.MkdirTemp("", "chromium-")
	if err != nil {
		t.Fatal(err)
	}
	// Processes of the browser outlive it for a moment, and write there.
	t.Cleanup(func() { harness.Eventually(t, "the profile is removed", func() error { return os.RemoveAll(profile) }) })
	c := exec.CommandContext(t.Context(), path, "--headless", "--no-sandbox", "--disable-gpu", "--disable-dev-shm-usage",
		"--no-first-run", "--remote-debugging-pipe", "--user-data-dir="+profile, "about:blank")
	c.ExtraFiles, c.WaitDelay = []*os.File{theirIn, theirOut}, 10*time.Second
	if err := c.Start(); err != nil {
		t.Fatal(err)
	}
	theirIn.Close()
	theirOut.Close()
	t.Cleanup(func() {
		_ = c.Process.Kill()
		_ = c.Wait() // it was killed
		in.Close()
		out.Close()
	})
	limit := time.AfterFunc(4*time.Minute, func() { _ = c.Process.Kill() })
	t.Cleanup(func() { limit.Stop() })
	b := &browser{in: in, out: bufio.NewReader(out)}
	var target struct{ TargetID string }
	b.call(t, "Target.createTarget", map[string]any{"url": "about:blank"}, &target)
	var attached struct{ SessionID string }
	b.call(t, "Target.attachToTarget", map[string]any{"targetId": target.TargetID, "flatten": true}, &attached)
	b.session = attached.SessionID
	for _, domain := range []string{"Page", "Runtime", "Log"} {
		b.call(t, domain+".enable", nil, nil)
	}
	t.Cleanup(func() {
		for _, report := range b.reports {
			t.Errorf("the console reports %s", report)
		}
	})
	return b
}

// message is a call, its result, or an event.
type message struct {
	ID        int             `json:"id,omitempty"`
	SessionID string          `json:"sessionId,omitempty"`
	Method    string          `json:"method,omitempty"`
	Params    any             `json:"params,omitempty"`
	Result    json.RawMessage `json:"result,omitempty"`
	Error     any             `json:"error,omitempty"`
}

// call calls a method and decodes its result.
func (b *browser) call(t *testing.T, method string, params map[string]any, result any) {
	t.Helper()
	b.next++
	text, err := json.Marshal(message{ID: b.next, SessionID: b.session, Method: method, Params: params})
	if err != nil {
		t.Fatal(err)
	}
	if _, err := b.in.Write(append(text, 0)); err != nil {
		t.Fatalf("%s: %v", method, err)
	}
	for {
		m := b.receive(t)
		if m.ID != b.next {
			continue
		}
		if m.Error != nil {
			t.Fatalf("%s: %v", method, m.Error)
		}
		if result != nil {
			if err := json.Unmarshal(m.Result, result); err != nil {
				t.Fatal(err)
			}
		}
		return
	}
}

// receive returns the next message, and keeps reports of the console.
func (b *browser) receive(t *testing.T) message {
	t.Helper()
	text, err := b.out.ReadBytes(0)
	if err != nil {
		t.Fatalf("chromium: %v", err)
	}
	var m message
	if err := json.Unmarshal(text[:len(text)-1], &m); err != nil {
		t.Fatal(err)
	}
	switch m.Method {
	case "Page.loadEventFired":
		b.loads++
	case "Log.entryAdded", "Runtime.exceptionThrown", "Runtime.consoleAPICalled":
		b.reports = append(b.reports, string(text))
	}
	return m
}

// open opens a page and waits until it has loaded.
func (b *browser) open(t *testing.T, url string) {
	t.Helper()
	b.call(t, "Page.navigate", map[string]any{"url": url}, nil)
	for b.evaluate(t, "String(document.readyState === 'complete' && location.href !== 'about:blank')") != "true" {
	}
}

// loading does what has another page loaded, and waits until it has. An expression must not be evaluated meanwhile.
func (b *browser) loading(t *testing.T, do func()) {
	t.Helper()
	before := b.loads
	do()
	for b.loads == before {
		b.receive(t)
	}
}

// evaluate returns the string that an expression yields, once its promise is kept.
func (b *browser) evaluate(t *testing.T, expression string) string {
	t.Helper()
	var got struct {
		Result           struct{ Value any }
		ExceptionDetails any
	}
	b.call(t, "Runtime.evaluate", map[string]any{"expression": expression, "returnByValue": true, "awaitPromise": true}, &got)
	if got.ExceptionDetails != nil {
		t.Fatalf("%s: %v", expression, got.ExceptionDetails)
	}
	return fmt.Sprint(got.Result.Value)
}

// screen sets the width in pixels and the color scheme.
func (b *browser) screen(t *testing.T, width int, scheme string) {
	t.Helper()
	b.call(t, "Emulation.setDeviceMetricsOverride", map[string]any{"width": width, "height": 900, "deviceScaleFactor": 1, "mobile": width < 500}, nil)
	b.call(t, "Emulation.setEmulatedMedia", map[string]any{"features": []map[string]string{{"name": "prefers-color-scheme", "value": scheme}}}, nil)
}
