package forward

import (
	"encoding/json"
	"net/http"
	"regexp"

	"go.uber.org/zap"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"sluice/proxy/message"
	"sluice/proxy/request"
	"sluice/proxy/response"
)

// reasonRefused is the Outcome.Reason of a request that the apiserver did not accept from Sluice.
const reasonRefused = "gateway-refused"

// errRefused responds to a request that the apiserver did not accept from Sluice. An apiserver that has
// just started refuses everything until it has read its access rules, and the client did nothing that it
// should not try again.
var errRefused = response.NewUnavailable(message.Refused.Say())

// maxRefusal bounds how much of a refusal is read, in bytes.
const maxRefusal = 16 << 10

// impersonationRefused matches the apiserver's message for a user without the right to impersonate. The
// verbs of constrained impersonation (KEP-5284) begin alike. The name of an object before it is quoted.
var impersonationRefused = regexp.MustCompile(`^\S+ (?:"(?:[^"\\]|\\.)*" )?is forbidden: ` +
	`User "(?:[^"\\]|\\.)*" cannot impersonate[a-z:-]* `)

// checkRefusal returns errRefused if the apiserver has refused Sluice itself rather than the user that
// it names: the user's own credentials and impersonation headers are not sent.
func (f *Forwarder) checkRefusal(resp *http.Response, info *request.Info) error {
	if !isNamed(info) || info.Verb == "proxy" || info.Proxied() { // another server may have refused the user
		return nil
	}
	switch resp.StatusCode {
	case http.StatusUnauthorized:
	case http.StatusForbidden:
		if f.upstream.FrontProxy || !impersonationRefused.MatchString(messageOf(resp)) {
			return nil
		}
	default:
		return nil
	}
	info.Outcome.Reason = reasonRefused
	f.log.Warn("the apiserver refuses to let Sluice act for a caller", zap.Int("code", resp.StatusCode),
		zap.String("user", request.Shorten(info.User)))
	return errRefused
}

// messageOf returns the message of a Status, and leaves the body to be read again.
func messageOf(resp *http.Response) string {
	text, err := response.Peek(resp, maxRefusal)
	if err != nil {
		return ""
	}
	var status metav1.Status
	if json.Unmarshal(text, &status) == nil {
		return status.Message
	}
	return binaryMessage(text)
}

// quotedMessage matches the beginning of a message of impersonationRefused in an encoding that writes
// text as it is, such as Protobuf and CBOR.
var quotedMessage = regexp.MustCompile(`[a-z/.]+ (?:"(?:[^"\\]|\\.)*" )?is forbidden: User "`)

func binaryMessage(text []byte) string {
	if at := quotedMessage.FindIndex(text); at != nil {
		return string(text[at[0]:])
	}
	return ""
}
