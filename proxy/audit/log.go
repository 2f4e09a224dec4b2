package audit

import (
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"os"
	"time"

	"gopkg.in/natefinch/lumberjack.v2"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	audit "k8s.io/apiserver/pkg/apis/audit/v1"

	"sluice/config"
)

// Stdout is the path that means the standard output, as at the apiserver.
const Stdout = "-"

// Open opens the file of a configuration for appending. The error says that it cannot be written.
func Open(c config.Audit) (io.WriteCloser, error) {
	if c.Path == Stdout {
		return os.Stdout, nil
	}
	out := &lumberjack.Logger{Filename: c.Path, MaxSize: c.MaxSize, MaxBackups: c.MaxBackups, MaxAge: c.MaxAge}
	if _, err := out.Write(nil); err != nil {
		return nil, errors.Join(fmt.Errorf("audit log: %w", err), out.Close())
	}
	return out, nil
}

func (l *Log) write(e *audit.Event) {
	line, err := json.Marshal(e)
	if err != nil {
		l.lose(failed)
		return
	}
	l.add(line)
}

// ResponseStarted records that the headers of a long response, as of a watch, are sent.
func (l *Log) ResponseStarted(r *http.Request, received time.Time, code int) {
	l.write(event(r, audit.StageResponseStarted, received, &metav1.Status{Code: int32(code)}))
}

// ResponseComplete records that a request has ended. The code is 0 if it ended without a response.
func (l *Log) ResponseComplete(r *http.Request, received time.Time, code int) {
	status := &metav1.Status{Code: int32(code)}
	if code == 0 { // as at the apiserver
		status = &metav1.Status{Code: http.StatusOK, Status: metav1.StatusSuccess, Message: "Connection closed early"}
	}
	l.write(event(r, audit.StageResponseComplete, received, status))
}

// Panic records that the handler of a request has failed. The value of the panic can contain objects, so
// it is not recorded.
func (l *Log) Panic(r *http.Request, received time.Time) {
	l.write(event(r, audit.StagePanic, received, &metav1.Status{
		Code: http.StatusInternalServerError, Status: metav1.StatusFailure, Reason: metav1.StatusReasonInternalError,
	}))
}
