package audit

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/prometheus/client_golang/prometheus/testutil"
	"go.uber.org/zap"
	"go.uber.org/zap/zaptest/observer"
	auditv1 "k8s.io/apiserver/pkg/apis/audit/v1"
	"k8s.io/apiserver/pkg/authentication/user"

	"sluice/config"
	"sluice/proxy/request"
)

// file is a file that accepts writes only while it is open for them.
type file struct {
	bytes.Buffer
	stalled chan struct{} // closed when writes may go on; nil if they always may
	err     error
	closed  bool
}

func (f *file) Write(p []byte) (int, error) {
	if f.stalled != nil {
		<-f.stalled
	}
	if f.err != nil {
		err := f.err
		f.err = nil
		n, _ := f.Buffer.Write(p[:len(p)/2])
		return n, err
	}
	return f.Buffer.Write(p)
}

func (f *file) Close() error {
	f.closed = true
	return nil
}

// get returns a request as the filters in front of the audit log leave it.
func get(target string, change ...func(*request.Info)) *http.Request {
	r := httptest.NewRequest(http.MethodGet, target, nil)
	info, _ := request.Parse(r)
	info.Outcome = request.Outcome{Source: request.SourceCache, Reason: "any-version"}
	for _, c := range change {
		c(info)
	}
	return r.WithContext(request.With(r.Context(), info))
}

func count(m *Metrics, result string) float64 {
	return testutil.ToFloat64(m.events.WithLabelValues(result))
}

// start runs a Log until end is called.
func start(t *testing.T, l *Log) (end func()) {
	ctx, cancel := context.WithCancel(t.Context())
	var running sync.WaitGroup
	running.Go(func() { _ = l.Run(ctx) })
	return func() { cancel(); running.Wait() }
}

func TestEventsAreWrittenAsLinesBeforeRunEnds(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f, m := &file{}, NewMetrics(nil)
		l := New(f, zap.NewNop(), m)
		end := start(t, l)
		r := get("/api/v1/namespaces/a/pods/p?resourceVersion=0", func(i *request.Info) {
			i.Acting = &user.DefaultInfo{Name: "jane", UID: "1", Groups: []string{"g"}, Extra: map[string][]string{"k": {"v"}}}
			i.Impersonated = &user.DefaultInfo{Name: "joe"}
			i.Decision = request.Decision{Verdict: request.Allow, Reason: "why"}
		})
		received := time.Now()
		l.ResponseStarted(r, received, http.StatusOK)
		l.ResponseComplete(r, received, 0)
		end()
		lines := strings.SplitAfter(f.String(), "\n")
		if len(lines) != 3 || lines[2] != "" || !f.closed {
			t.Fatalf("closed: %v, %q", f.closed, lines)
		}
		var e auditv1.Event
		if err := json.Unmarshal([]byte(lines[0]), &e); err != nil {
			t.Fatal(err)
		}
		if e.Kind != "Event" || e.APIVersion != "audit.k8s.io/v1" || e.Stage != auditv1.StageResponseStarted || e.Level != auditv1.LevelMetadata || e.User.Username != "jane" || e.User.UID != "1" ||
			e.ImpersonatedUser.Username != "joe" || e.RequestURI != "/api/v1/namespaces/a/pods/p?resourceVersion=0" || e.Verb != "get" ||
			*e.ObjectRef != (auditv1.ObjectReference{Resource: "pods", Namespace: "a", Name: "p", APIVersion: "v1"}) ||
			e.ResponseStatus.Code != 200 || len(e.SourceIPs) != 1 || e.Annotations["sluice/source"] != "cache" ||
			e.Annotations["sluice/reason"] != "any-version" || e.Annotations["authorization.k8s.io/decision"] != "allow" || e.Annotations["authorization.k8s.io/reason"] != "why" {
			t.Errorf("%s", lines[0])
		}
		if count(m, written) != 2 || count(m, dropped) != 0 {
			t.Errorf("written %v, dropped %v", count(m, written), count(m, dropped))
		}
	})
}

// A file that accepts nothing must not delay requests, nor take memory without bound.
func TestStalledFileDropsEventsAndBlocksNobody(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		core, logs := observer.New(zap.WarnLevel)
		f, m := &file{stalled: make(chan struct{})}, NewMetrics(nil)
		l := New(f, zap.New(core), m)
		end := start(t, l)
		r := get("/api/v1/pods?x=" + strings.Repeat("x", 5000))
		before := time.Now()
		for count(m, dropped) < 10 {
			l.ResponseComplete(r, before, http.StatusOK)
		}
		if took := time.Since(before); took != 0 {
			t.Errorf("requests waited for %v", took)
		}
		if n := l.bytes.Load(); n > maxQueued {
			t.Errorf("%d bytes are queued", n)
		}
		close(f.stalled)
		synctest.Wait()
		if count(m, written) < 1000 {
			t.Errorf("%v events are written after the stall", count(m, written))
		}
		time.Sleep(reportEvery)
		synctest.Wait()
		if lines := logs.FilterMessage("audit events are lost").All(); len(lines) != 1 || lines[0].ContextMap()["events"] != int64(10) {
			t.Errorf("%v", lines)
		}
		end()
	})
}

func TestFileThatStallsForeverDelaysTheEndByFiveSeconds(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f := &file{stalled: make(chan struct{})}
		l := New(f, zap.NewNop(), NewMetrics(nil))
		l.ResponseComplete(get("/version"), time.Now(), http.StatusOK)
		before := time.Now()
		start(t, l)()
		if took := time.Since(before); took != lastWrites {
			t.Errorf("ended after %v", took)
		}
		close(f.stalled)
	})
}

func TestFailedWritesAreCountedAndDamageNoOther(t *testing.T) {
	f, m := &file{err: errors.New("no space left")}, NewMetrics(nil)
	l := New(f, zap.NewNop(), m)
	for range 2 {
		l.ResponseComplete(get("/version"), time.Now(), http.StatusOK)
	}
	start(t, l)()
	if count(m, failed) != 1 || count(m, written) != 1 {
		t.Errorf("failed %v, written %v", count(m, failed), count(m, written))
	}
	if lines := bytes.Split(f.Bytes(), []byte("\n")); len(lines) != 3 || !json.Valid(lines[1]) {
		t.Errorf("wrote %q", f.Bytes())
	}
}

func TestTextsOfClientsAreCut(t *testing.T) {
	r := get("/api/v1/pods?x="+strings.Repeat("ä", 50_000), func(i *request.Info) { i.AuditID = strings.Repeat("i", 60_000) })
	r.Header.Set("User-Agent", strings.Repeat("u", 60_000))
	r.Header.Set("X-Forwarded-For", strings.Repeat("10.0.0.1,", 5000)+"10.0.0.2")
	f := &file{}
	l := New(f, zap.NewNop(), NewMetrics(nil))
	l.ResponseComplete(r, time.Now(), http.StatusOK)
	if n := l.bytes.Load(); n > 30_000 {
		t.Errorf("the event has %d bytes", n)
	}
}

func TestUnusablePathIsAnError(t *testing.T) {
	dir := t.TempDir()
	if err := os.WriteFile(filepath.Join(dir, "file"), nil, 0o600); err != nil {
		t.Fatal(err)
	}
	if _, err := Open(config.Audit{Path: filepath.Join(dir, "file", "audit.log")}); err == nil {
		t.Error("no error")
	}
	path := filepath.Join(dir, "new", "audit.log")
	f, err := Open(config.Audit{Path: path, MaxSize: 1})
	if err != nil {
		t.Fatal(err)
	}
	f.Close()
	if info, err := os.Stat(path); err != nil || info.Mode().Perm() != 0o600 {
		t.Errorf("%v, %v", info, err)
	}
}

// An alert sees no increase in a series that begins above zero.
func TestEachResultIsCountedFromZero(t *testing.T) {
	if n := testutil.CollectAndCount(NewMetrics(nil).events); n != 3 {
		t.Errorf("%d series before the first event, want 3", n)
	}
}
