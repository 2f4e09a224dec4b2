package cache

import (
	"errors"
	"testing"
	"testing/synctest"

	"sluice/cache/tree"
)

// gatedEncoder encodes once its gate is closed, and counts.
type gatedEncoder struct {
	gate   chan struct{}
	count  int
	panics bool
}

func (g *gatedEncoder) AppendEvent(dst []byte, t Type, o *tree.Object) ([]byte, error) {
	g.count++
	<-g.gate
	if g.panics {
		panic("encoder")
	}
	return append(dst, string(o.Key)...), nil
}

func (g *gatedEncoder) DeletedFromSelection(o *tree.Object, _ uint64) (*tree.Object, error) {
	return o, nil
}

func TestReadersOfOneFormatWaitForOneEncodingAndDelayNoOther(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		e := &Event{Type: Added, Object: &tree.Object{Key: "a"}}
		slow, quick := &gatedEncoder{gate: make(chan struct{})}, &gatedEncoder{gate: make(chan struct{})}
		close(quick.gate)
		read := make(chan string)
		for range 10 {
			go func() {
				frame, err := e.Frame(nil, slow, Added)
				if err != nil {
					t.Error(err)
				}
				read <- string(frame)
			}()
		}
		synctest.Wait()
		if frame, err := e.Frame(nil, quick, Added); err != nil || string(frame) != "a" {
			t.Errorf("%q, %v", frame, err)
		}
		close(slow.gate)
		for range 10 {
			if frame := <-read; frame != "a" {
				t.Errorf("frame %q", frame)
			}
		}
		if slow.count != 1 || quick.count != 1 {
			t.Errorf("encoded %d and %d times", slow.count, quick.count)
		}
	})
}

// A frame that is missing would be an event that is lost.
func TestReadersGetAnErrorIfTheEncoderPanics(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		e := &Event{Type: Added, Object: &tree.Object{Key: "a"}}
		enc := &gatedEncoder{gate: make(chan struct{}), panics: true}
		go func() {
			defer func() { _ = recover() }()
			_, _ = e.Frame(nil, enc, Added)
		}()
		synctest.Wait()
		waited := make(chan error)
		go func() {
			_, err := e.Frame(nil, enc, Added)
			waited <- err
		}()
		synctest.Wait()
		close(enc.gate)
		if err := <-waited; !errors.Is(err, tree.ErrPanicked) {
			t.Error(err)
		}
		enc.panics = false
		if frame, err := e.Frame(nil, enc, Added); err != nil || string(frame) != "a" {
			t.Errorf("%q, %v", frame, err)
		}
	})
}
