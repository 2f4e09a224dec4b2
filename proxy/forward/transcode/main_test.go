package transcode_test

import (
	"testing"

	"go.uber.org/goleak"
)

func TestMain(m *testing.M) {
	// client-go watches the files of client certificates as long as the process lives.
	goleak.VerifyTestMain(m, goleak.IgnoreAnyFunction("k8s.io/client-go/transport.(*dynamicClientCert).run"))
}
