package proxy

import "net/http"

// recorder is a ResponseWriter that records the status code and the length of the body.
type recorder struct {
	http.ResponseWriter
	code     int   // 0 until the response header is written
	bytes    int64 // of the body; bytes of an upgraded connection are not counted
	length   length
	onHeader func(code int) // called once, before the response header is written
	onWrite  func()         // called after each write; nil calls nothing
}

// Unwrap lets http.ResponseController find the methods of the underlying ResponseWriter.
func (r *recorder) Unwrap() http.ResponseWriter { return r.ResponseWriter }

func (r *recorder) WriteHeader(code int) {
	informational := code >= 100 && code < 200 && code != http.StatusSwitchingProtocols
	if !informational {
		r.start(code)
	}
	r.ResponseWriter.WriteHeader(code)
}

func (r *recorder) Write(p []byte) (int, error) {
	r.start(http.StatusOK)
	n, err := r.ResponseWriter.Write(p)
	r.bytes += int64(n)
	r.length.wrote(n)
	if r.onWrite != nil {
		r.onWrite()
	}
	return n, err
}

func (r *recorder) start(code int) {
	if r.code == 0 {
		r.code = code
		r.onHeader(code)
	}
}
