package main

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"io"
	"net/http"
	"net/http/httptest"
	"reflect"
	"slices"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"sluice/proxy/see"
)

// statusText returns a Status as the admin listener answers it.
func statusText(t *testing.T, state string, pods see.Resource) string {
	t.Helper()
	pods.Name = "pods.v1"
	text, err := json.Marshal(see.Status{
		APIVersion: "sluice/v1alpha1", Kind: "Status", Facts: &see.Facts{Resources: []see.Resource{pods}},
		Verdict: see.Verdict{State: state, Sentence: "A sentence.", Do: "Do this.", Runbook: "section"},
	})
	if err != nil {
		t.Fatal(err)
	}
	return string(text)
}

// The exit code tells a script what the sentence tells people.
func TestStatusExitsByTheVerdict(t *testing.T) {
	status := func(state string) string {
		return statusText(t, state, see.Resource{Synced: true, Objects: 10006, ProvenSeconds: new(0.009)})
	}
	token := writeFile(t, "token", "sesame\n")
	for _, tt := range []struct {
		name, body string
		code       int
		want       int
	}{
		{"well", status("well"), 200, 0}, {"idle", status("idle"), 200, 0}, {"filling", status("filling"), 200, 0},
		{"away", status("away"), 200, exitNotWell}, {"overloaded", status("overloaded"), 200, exitNotWell},
		{"forbidden", "Sluice: no", 403, exitUnknown}, {"an older release", "404 page not found", 404, exitUnknown},
		{"another server", "<html>", 200, exitUnknown}, {"something else as JSON", "{}", 200, exitUnknown},
	} {
		address := answering(t, func(w http.ResponseWriter, r *http.Request) {
			if r.URL.Path != "/see/v1alpha1/status" || r.Header.Get("Authorization") != "Bearer sesame" {
				t.Errorf("%s asks for %s as %q", tt.name, r.URL, r.Header.Get("Authorization"))
			}
			w.WriteHeader(tt.code)
			_, _ = w.Write([]byte(tt.body))
		})
		for _, format := range []string{"text", "json"} {
			out, code := execute(t, "status", "--address", address+"/", "--token-file", token, "-o", format)
			if code != tt.want {
				t.Errorf("%s: exit code %d, want %d", tt.name, code, tt.want)
			}
			switch {
			case code == exitUnknown && out != "", format == "json" && code != exitUnknown && !sameJSON(out, tt.body):
				t.Errorf("%s: %s prints %q", tt.name, format, out)
			case format == "text" && code != exitUnknown && !(strings.Contains(out, "A sentence.\n  Do this.\n  Runbook: docs/deploying.md#section\n") && strings.Contains(out, "10 006")):
				t.Errorf("%s: prints %q", tt.name, out)
			}
		}
	}
}

// sameJSON reports whether two texts have the same value, whatever their spaces.
func sameJSON(a, b string) bool {
	var one, other any
	return json.Unmarshal([]byte(a), &one) == nil && json.Unmarshal([]byte(b), &other) == nil && reflect.DeepEqual(one, other)
}

// TestStatusWaitsForAState: the exit code says whether it came, or whether nobody answers.
func TestStatusWaitsForAState(t *testing.T) {
	status := func(state string, synced bool) string { return statusText(t, state, see.Resource{Synced: synced}) }
	away, filling, well := status("away", false), status("filling", false), status("well", true)
	for name, tt := range map[string]struct {
		answers []string // the last one for ever; "" refuses
		args    []string
		ends    int // after so many answers; 0 does not
		code    int
		prints  []string
		log     int // lines
	}{
		"ready at once":         {answers: []string{filling}, args: []string{"--wait"}, prints: []string{"filling"}},
		"ready later":           {answers: []string{"", away, away, well}, args: []string{"--wait=ready"}, prints: []string{"well"}},
		"synced later":          {answers: []string{filling, filling, well}, args: []string{"--wait=synced"}, prints: []string{"well"}},
		"never ready":           {[]string{away}, []string{"--wait"}, 3, exitNotWell, []string{"away"}, 0},
		"never there":           {[]string{""}, []string{"--wait"}, 3, exitUnknown, nil, 0},
		"gone at the end":       {[]string{away, ""}, []string{"--wait"}, 4, exitUnknown, nil, 0},
		"both ways":             {answers: []string{well}, args: []string{"--wait", "-w"}, code: exitUnknown},
		"until interrupted":     {[]string{away, "", well}, []string{"-w"}, 5, 0, []string{"away", "well", "well"}, 1},
		"for something unknown": {answers: []string{well}, args: []string{"--wait=soon"}, code: exitUnknown},
		"for a separate word":   {answers: []string{well}, args: []string{"--wait", "synced"}, code: exitUnknown},
	} {
		ctx, end := context.WithCancel(t.Context())
		asked := 0 // by one request after the other
		server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
			if asked++; asked == tt.ends {
				end()
			}
			text := tt.answers[min(asked, len(tt.answers))-1]
			if text == "" {
				w.WriteHeader(http.StatusServiceUnavailable)
			}
			_, _ = w.Write([]byte(text))
		}))
		var out, log bytes.Buffer
		c := (&statusFlags{output: printer{every: time.Millisecond}}).command()
		c.SetOut(&out)
		c.SetErr(&log)
		c.SilenceErrors, c.SilenceUsage = true, true
		c.SetArgs(append([]string{"-o", "json", "--timeout", "1m", "--address", server.URL}, tt.args...))
		err := c.ExecuteContext(ctx)
		server.Close()
		end()
		var states []string
		for d := json.NewDecoder(&out); d.More(); {
			var s see.Status
			if err := d.Decode(&s); err != nil {
				t.Fatal(err)
			}
			states = append(states, s.State)
		}
		exit := exitCode(err)
		if exit != tt.code || !slices.Equal(states, tt.prints) || strings.Count(log.String(), "\n") != tt.log {
			t.Errorf("%s: %v (exit %d), prints %q and %q; want %+v", name, err, exit, states, &log, tt)
		}
	}
}

// TestStatusWaitsForNoDeadConnection: the first of all is never answered, whatever the time of the wait.
func TestStatusWaitsForNoDeadConnection(t *testing.T) {
	var asked atomic.Int32
	address := answering(t, func(w http.ResponseWriter, r *http.Request) {
		if asked.Add(1) == 1 {
			_, _ = io.Copy(io.Discard, r.Body) // so that the end of the connection is noticed
			<-r.Context().Done()
			return
		}
		_, _ = w.Write([]byte(`{"kind":"Status","state":"well","resources":[]}`))
	})
	out, code := execute(t, "status", "--wait", "--timeout", "8s", "--address", address)
	if code != 0 || asked.Load() != 2 {
		t.Errorf("exit %d after %d questions: %s", code, asked.Load(), out)
	}
}

// TestTokensAreNotSentUnencrypted to another host, not even a name to resolve, nor to a pod: any user with the right to create
// pods can give one the label of Sluice.
func TestTokensAreNotSentUnencrypted(t *testing.T) {
	for address, refused := range map[string]bool{
		"http://192.0.2.1:9443": true, "HTTP://sluice.example.com": true, "http://localhost.example.com": true,
		"http://127.0.0.1:1": false, "http://localhost:1": false, "http://[::1]:1": false, "https://127.0.0.1:1": false,
	} {
		for _, at := range []string{"", "one/sluice-0"} {
			c := adminClient{address: address, token: []byte("sesame"), timeout: time.Minute}
			c.pod = pod{at: at, kubeconfig: kubeconfigFor(t, "https://127.0.0.1:1", "")}
			want := refused || at != "" && strings.HasPrefix(address, "http:")
			if _, err := c.ask(t.Context(), "/"); err == nil || strings.Contains(err.Error(), "unencrypted") != want {
				t.Errorf("%s %s: %v", address, at, err)
			}
		}
	}
}

// full is a file on a disk without room.
type full struct{}

func (full) Write([]byte) (int, error) { return 0, errors.New("no space left on device") }

// The exit code 1 asks somebody to act on Sluice, so no failure of the command itself may have it.
func TestStatusThatCannotTellExitsApart(t *testing.T) {
	well := `{"kind": "Status", "state": "well", "resources": []}`
	for name, tt := range map[string]struct {
		args       []string
		body, says string
	}{
		"full disk":   {nil, well, "no space left"},
		"JSON on it":  {[]string{"-o", "json"}, well, "no space left"},
		"long answer": {nil, well + strings.Repeat(" ", 16<<20), "longer than 16 MiB"},
	} {
		c := rootCommand()
		c.SetOut(full{})
		address := answering(t, func(w http.ResponseWriter, _ *http.Request) { _, _ = w.Write([]byte(tt.body)) })
		c.SetArgs(append([]string{"status", "--address", address}, tt.args...))
		err := c.ExecuteContext(t.Context())
		if exitCode(err) != exitUnknown || !strings.Contains(err.Error(), tt.says) {
			t.Errorf("%s: %v", name, err)
		}
	}
}

// TestShellsCompleteValues of flags that have few.
func TestShellsCompleteValues(t *testing.T) {
	for flag, want := range map[string]string{
		"status --wait=": "synced", "why --show": "refused", "clients --sort-by": "would-cost",
	} {
		args := append([]string{"__complete"}, strings.Fields(flag)...)
		if !strings.HasSuffix(flag, "=") {
			args = append(args, "")
		}
		if out, _ := execute(t, args...); !strings.Contains(out, want+"\n") {
			t.Errorf("%s: %s", flag, out)
		}
	}
}
