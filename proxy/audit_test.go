package proxy

import (
	"context"
	"encoding/json"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"go.uber.org/zap"
	auditv1 "k8s.io/apiserver/pkg/apis/audit/v1"

	"sluice/proxy/audit"
	"sluice/proxy/request"
)

type nopCloser struct{ io.Writer }

func (nopCloser) Close() error { return nil }

// TestAuditRecordsWhatSluiceAnswers checks which requests are recorded, at which stages, with which codes.
func TestAuditRecordsWhatSluiceAnswers(t *testing.T) {
	type handler func(http.ResponseWriter, *request.Info)
	from := func(source string, code int) handler {
		return func(w http.ResponseWriter, info *request.Info) {
			info.Outcome.Source = source
			w.WriteHeader(code)
		}
	}
	type recorded struct {
		Stage auditv1.Stage
		Code  int32
	}
	const pods = "/api/v1/pods"
	for _, tt := range []struct {
		name, target string
		handler      handler
		panics       bool
		want         []recorded
	}{
		{"cached list", pods, from(request.SourceCache, 200), false, []recorded{{auditv1.StageResponseComplete, 200}}},
		{"cached watch", pods + "?watch=1", from(request.SourceCache, 200), false, []recorded{{auditv1.StageResponseStarted, 200}, {auditv1.StageResponseComplete, 200}}},
		{"refusal", pods, from(request.SourceGateway, 429), false, []recorded{{auditv1.StageResponseComplete, 429}}},
		{"refused watch", pods + "?watch=1", from(request.SourceGateway, 429), false, []recorded{{auditv1.StageResponseComplete, 429}}},
		{"passed", pods, from(request.SourceUpstream, 200), false, nil},
		{"passed watch", pods + "?watch=1", from(request.SourceUpstream, 200), false, nil},
		{"passed impersonation by certificate", pods, func(w http.ResponseWriter, info *request.Info) {
			info.Caller, info.Impersonates = request.ClientCert, true
			from(request.SourceUpstream, 200)(w, info)
		}, false, []recorded{{auditv1.StageResponseComplete, 200}}},
		{"upstream has not responded", pods, func(w http.ResponseWriter, info *request.Info) {
			info.Outcome.Unanswered = true
			from(request.SourceUpstream, 503)(w, info)
		}, false, []recorded{{auditv1.StageResponseComplete, 503}}},
		{"client gone while it receives", pods, func(w http.ResponseWriter, info *request.Info) {
			from(request.SourceCache, 200)(w, info)
			panic(http.ErrAbortHandler)
		}, true, []recorded{{auditv1.StageResponseComplete, 200}}},
		{"handler fails", pods, func(http.ResponseWriter, *request.Info) { panic("an object") }, true, []recorded{{auditv1.StagePanic, 500}}},
	} {
		t.Run(tt.name, func(t *testing.T) {
			var out strings.Builder
			log := audit.New(nopCloser{&out}, zap.NewNop(), audit.NewMetrics(nil))
			func() {
				defer func() {
					if panicked := recover() != nil; panicked != tt.panics {
						t.Errorf("panicked: %v", panicked)
					}
				}()
				chain(of(tt.handler), withRequestInfo, withAudit(log)).ServeHTTP(httptest.NewRecorder(), httptest.NewRequest(http.MethodGet, tt.target, nil))
			}()
			ctx, cancel := context.WithCancel(t.Context())
			cancel()
			if err := log.Run(ctx); err != nil {
				t.Fatal(err)
			}
			var got []recorded
			for line := range strings.Lines(out.String()) {
				var e auditv1.Event
				if err := json.Unmarshal([]byte(line), &e); err != nil {
					t.Fatal(err)
				}
				got = append(got, recorded{e.Stage, e.ResponseStatus.Code})
			}
			if diff := cmp.Diff(tt.want, got); diff != "" || strings.Contains(out.String(), "an object") {
				t.Errorf("want (-), got (+):\n%s", diff)
			}
		})
	}
}
