package security

import (
	"bufio"
	"crypto/tls"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"k8s.io/client-go/rest"

	"sluice/test/harness"
)

// The API listener never serves plain HTTP, whatever the address.
func TestPlainRequestIsNotServed(t *testing.T) {
	resp, err := http.Get("http://" + strings.TrimPrefix(sluice.URL, "https://") + "/version")
	if err != nil {
		t.Fatal(err)
	}
	defer resp.Body.Close()
	body, err := io.ReadAll(resp.Body)
	if err != nil || resp.StatusCode != http.StatusBadRequest || strings.Contains(string(body), "gitVersion") {
		t.Errorf("%s %s, %v", resp.Status, body, err)
	}
}

// A header of any size would be held once per request, and forwarded. Package proxy tests HTTP/2,
// in which the client knows the limit.
func TestLongHeaderIsAnswered431(t *testing.T) {
	for name, h := range map[string]http.Header{
		"one field":    {"X-Long": {strings.Repeat("x", 100_000)}},
		"short fields": {"X": slices.Repeat([]string{"y"}, 600)},
	} {
		resp := do(t, sluice.Raw("admin"), harness.Request{Path: "/version", HTTP1: true, Header: h})
		if resp.Status != http.StatusRequestHeaderFieldsTooLarge {
			t.Errorf("%s: %d", name, resp.Status)
		}
	}
}

// A client that stops reading a passed answer must not hold a request upstream for ever. Several
// answers of some megabytes are far more than the connections hold.
func TestStalledClientOfAPassedAnswerIsCut(t *testing.T) {
	t.Parallel()
	address := strings.TrimPrefix(sluice.URL, "https://")
	conf, err := rest.TLSConfigFor(sluice.RESTConfig("admin"))
	if err != nil {
		t.Fatal(err)
	}
	conf.ServerName, conf.NextProtos = "127.0.0.1", []string{"http/1.1"}
	raw, err := net.Dial("tcp", address)
	if err != nil {
		t.Fatal(err)
	}
	defer raw.Close()
	if err := raw.(*net.TCPConn).SetReadBuffer(4096); err != nil { // accepts little that the client does not read
		t.Fatal(err)
	}
	conn := tls.Client(raw, conf)
	request := fmt.Sprintf("GET /openapi/v2 HTTP/1.1\r\nHost: %s\r\nAudit-Id: stalled-client\r\nAuthorization: Bearer %s\r\n\r\n", address, plane.RESTConfig("admin").BearerToken)
	if _, err := io.WriteString(conn, strings.Repeat(request, 20)); err != nil {
		t.Fatal(err)
	}
	if _, err := bufio.NewReaderSize(conn, 16).ReadString('\n'); err != nil {
		t.Fatal(err)
	}
	harness.Eventually(t, "the answer is cut", func() error {
		log, err := os.ReadFile(filepath.Join(sluice.Dir, "sluice.log"))
		for line := range strings.Lines(string(log)) {
			if strings.Contains(line, `"audit_id":"stalled-client"`) && strings.Contains(line, `"reason":"client-stalled"`) {
				return nil
			}
		}
		return errors.Join(err, errors.New("the access log does not say so"))
	})
}

// Over IPv6, everything works as over IPv4: certificates, callers, limits by address.
func TestIPv6(t *testing.T) {
	if l, err := net.Listen("tcp", "[::1]:0"); err != nil {
		t.Skip("this machine has no IPv6")
	} else {
		l.Close()
	}
	s := plane.StartSluice(t, harness.SluiceOptions{Flags: []string{"--listen=[::1]:0", "--admin-listen=[::1]:0"}})
	if !strings.HasPrefix(s.URL, "https://[::1]:") {
		t.Fatalf("listens at %s", s.URL)
	}
	s.WaitForCacheSync(t, "/api/v1/pods", "pods.v1")
	for user, want := range map[string]int{"admin": http.StatusOK, "admin-cert": http.StatusOK, "nobody": http.StatusForbidden, harness.Anonymous: http.StatusForbidden} {
		for _, http1 := range []bool{true, false} {
			if resp := do(t, s.Raw(user), harness.Request{Path: "/api/v1/pods?resourceVersion=0", HTTP1: http1}); resp.Status != want {
				t.Errorf("%s: %d", user, resp.Status)
			}
		}
	}
	if text, err := s.AdminGet("/readyz"); err != nil || text != "ok" {
		t.Errorf("readyz: %q, %v", text, err)
	}
}
