package transcode_test

import (
	"errors"
	"fmt"
	"net/http"
	"testing"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"sluice/codec"
	"sluice/proxy/response"
	"sluice/test/support/forwardtest"
)

// The apiserver has no format for a client of which it refuses every media type.
func TestRefusalOfEveryMediaTypeIsJSON(t *testing.T) {
	refused := response.NewNotAcceptable("only the following media types are accepted: application/json")
	e := newEnv(t, func(w http.ResponseWriter, _ *http.Request) { writeStatus(w, refused) })
	resp := e.Get(t, thingsPath+"/a", acceptHeader("application/cbor;drop=spec"))
	want := string(codec.AppendStatus(nil, &refused.ErrStatus, codec.Format{}))
	if body := forwardtest.ReadAll(t, resp.Body); resp.StatusCode != http.StatusNotAcceptable || body != want || resp.Header.Get("Content-Type") != codec.MediaJSON {
		t.Errorf("got %s, %s", resp.Status, body)
	}
}

func TestErrorHasTheFormatOfTheApiserver(t *testing.T) {
	status := apierrors.NewNotFound(schema.GroupResource{Group: "lab.example.com", Resource: "things"}, "a")
	forbidden := apierrors.NewForbidden(schema.GroupResource{}, "", errors.New("why"))
	for _, tt := range []struct {
		accept, contentType string
		status              *apierrors.StatusError
		format              codec.Format
	}{
		{"application/cbor", "application/cbor", status, codec.Format{Encoding: codec.CBOR}},
		{"application/yaml", "application/yaml", status, codec.Format{Encoding: codec.YAML}},
		{"application/json" + asTable, "application/json", status, codec.Format{Pretty: true}},
		{"application/cbor" + asMetadata, "application/json", status, codec.Format{Pretty: true}},
		{"application/cbor", "application/json", forbidden, codec.Format{Pretty: true}},
	} {
		t.Run(fmt.Sprint(tt.accept, tt.status.ErrStatus.Code), func(t *testing.T) {
			server := &jsonServer{respond: func(w http.ResponseWriter, _ *http.Request, _ []byte) { writeStatus(w, tt.status) }}
			e := newEnv(t, server.ServeHTTP)
			resp := e.Get(t, thingsPath+"/a", acceptHeader(tt.accept))
			body, contentType := forwardtest.ReadAll(t, resp.Body), resp.Header.Get("Content-Type")
			if resp.StatusCode != int(tt.status.ErrStatus.Code) || contentType != tt.contentType {
				t.Errorf("got %s with %v", resp.Status, resp.Header)
			}
			want := string(codec.AppendStatus(nil, &tt.status.ErrStatus, tt.format))
			if tt.format.Encoding == codec.CBOR { // whose members have no order
				want, body = decode(want, contentType), decode(body, contentType)
			}
			if body != want {
				t.Errorf("got %q, want %q", body, want)
			}
		})
	}
}
