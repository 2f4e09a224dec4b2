package transcode_test

import (
	"fmt"
	"net/http"
	"testing"

	"sluice/codec"
	"sluice/proxy/forward/forwardtest"
)

func TestErrorHasTheFormatOfTheApiserver(t *testing.T) {
	status := codec.NewNotFound(codec.GroupResource{Group: "lab.example.com", Resource: "things"}, "a")
	forbidden := codec.NewForbiddenPath("why")
	for _, tt := range []struct {
		accept, contentType string
		status              *codec.Status
		format              codec.Format
	}{
		{"application/cbor", "application/cbor", status, codec.Format{Encoding: codec.CBOR}},
		{"application/yaml", "application/yaml", status, codec.Format{Encoding: codec.YAML}},
		{"application/json" + asTable, "application/json", status, codec.Format{Pretty: true}},
		{"application/cbor" + asMetadata, "application/json", status, codec.Format{Pretty: true}},
		{"application/cbor", "application/json", forbidden, codec.Format{Pretty: true}},
	} {
		t.Run(fmt.Sprint(tt.accept, tt.status.Code), func(t *testing.T) {
			server := &jsonServer{respond: func(w http.ResponseWriter, _ *http.Request, _ []byte) { writeStatus(w, tt.status) }}
			e := newEnv(t, server.ServeHTTP)
			resp := e.Get(t, thingsPath+"/a", acceptHeader(tt.accept))
			body, contentType := forwardtest.ReadAll(t, resp.Body), resp.Header.Get("Content-Type")
			if resp.StatusCode != tt.status.Code || contentType != tt.contentType {
				t.Errorf("got %s with %v", resp.Status, resp.Header)
			}
			want := string(tt.status.Append(nil, tt.format))
			if tt.format.Encoding == codec.CBOR { // whose members have no order
				want, body = decode(want, contentType), decode(body, contentType)
			}
			if body != want {
				t.Errorf("got %q, want %q", body, want)
			}
		})
	}
}
