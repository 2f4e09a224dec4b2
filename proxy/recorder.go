package proxy

import "net/http"

// recorder notes what is written through it.
type recorder struct {
	http.ResponseWriter
	code    int
	bytes   int64
	onStart func(code int) // called once, before the first byte
}

// Unwrap lets http.ResponseController reach what lies under the recorder.
func (r *recorder) Unwrap() http.ResponseWriter { return r.ResponseWriter }

func (r *recorder) WriteHeader(code int) {
	if informational := code >= 100 && code < 200 && code != http.StatusSwitchingProtocols; !informational && r.code == 0 {
		r.code = code
		r.onStart(code)
	}
	r.ResponseWriter.WriteHeader(code)
}

func (r *recorder) Write(p []byte) (int, error) {
	if r.code == 0 {
		r.code = http.StatusOK
		r.onStart(r.code)
	}
	n, err := r.ResponseWriter.Write(p)
	r.bytes += int64(n)
	return n, err
}
