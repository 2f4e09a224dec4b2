package response

import "net/http"

// FramePayload is the most bytes of a body whose DATA frame, with its header of 9 bytes (RFC 9113, section 4.1),
// fits into one TLS record of 16 KiB (RFC 8446, section 5.1). Nearly all clients accept frames of 16 KiB,
// and net/http fills them: the last 9 bytes of each would be a record and a system call of their own.
const FramePayload = 16<<10 - 9

// Recorder is a ResponseWriter that records the status code and the length of the body. Over HTTP/2 it writes frame by frame.
type Recorder struct {
	http.ResponseWriter
	Code     int   // 0 until the response header is written
	Bytes    int64 // of the body; bytes of an upgraded connection are not counted
	framed   bool
	onHeader func(code int)
	onWrite  func()
}

// NewRecorder returns the Recorder of the response to a request.
func NewRecorder(w http.ResponseWriter, r *http.Request) *Recorder {
	return &Recorder{ResponseWriter: w, framed: r.ProtoMajor == 2}
}

// RecorderOf returns the Recorder that w is, or one that writes to w.
func RecorderOf(w http.ResponseWriter) *Recorder {
	if r, ok := w.(*Recorder); ok {
		return r
	}
	return &Recorder{ResponseWriter: w}
}

// OnHeader lets f be called once, before the response header is written, after the functions of earlier calls.
func (r *Recorder) OnHeader(f func(code int)) {
	before := r.onHeader
	if before == nil {
		r.onHeader = f
		return
	}
	r.onHeader = func(code int) {
		before(code)
		f(code)
	}
}

// OnWrite lets f be called after each write, instead of the function of an earlier call.
func (r *Recorder) OnWrite(f func()) { r.onWrite = f }

// Unwrap is for http.ResponseController.
func (r *Recorder) Unwrap() http.ResponseWriter { return r.ResponseWriter }

// WriteHeader implements http.ResponseWriter.
func (r *Recorder) WriteHeader(code int) {
	informational := code >= 100 && code < 200 && code != http.StatusSwitchingProtocols
	if !informational {
		r.start(code)
	}
	r.ResponseWriter.WriteHeader(code)
}

// Write implements io.Writer.
func (r *Recorder) Write(p []byte) (int, error) {
	r.start(http.StatusOK)
	n, err := r.write(p)
	r.Bytes += int64(n)
	if r.onWrite != nil {
		r.onWrite()
	}
	return n, err
}

func (r *Recorder) write(p []byte) (int, error) {
	most := len(p)
	if r.framed {
		most = FramePayload
	}
	for rest := p; ; {
		n, err := r.ResponseWriter.Write(rest[:min(len(rest), most)])
		if rest = rest[n:]; err != nil || len(rest) == 0 {
			return len(p) - len(rest), err
		}
	}
}

func (r *Recorder) start(code int) {
	if r.Code != 0 {
		return
	}
	r.Code = code
	if r.onHeader != nil {
		r.onHeader(code)
	}
}
