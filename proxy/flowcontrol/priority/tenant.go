package priority

import "container/list"

// tenant is what has a share of a level.
type tenant struct {
	name  string
	taken int           // seats of its requests that the library has
	turn  *list.Element // in level.turns; nil if none of its requests wait in front
	turns list.List     // of *line, those of its members that wait
	lines map[string]*list.Element
}

// line is the requests of one member of a tenant that wait in front, in order of arrival.
type line struct {
	member   string
	requests list.List // of *levelRequest
}

// waitingOf returns how many requests of a member wait.
func (t *tenant) waitingOf(member string) int {
	if e := t.lines[member]; e != nil {
		return e.Value.(*line).requests.Len()
	}
	return 0
}

// next returns the request whose turn it is. There must be one.
func (t *tenant) next() *levelRequest {
	return t.turns.Front().Value.(*line).requests.Front().Value.(*levelRequest)
}

func (t *tenant) add(r *levelRequest) {
	if t.lines == nil {
		t.lines = map[string]*list.Element{}
	}
	e := t.lines[r.account.member]
	if e == nil {
		e = t.turns.PushBack(&line{member: r.account.member})
		t.lines[r.account.member] = e
	}
	r.place = e.Value.(*line).requests.PushBack(r)
}

// remove takes a request out. If it was its turn, the next member has its turn.
func (t *tenant) remove(r *levelRequest) {
	e := t.lines[r.account.member]
	l := e.Value.(*line)
	if r == t.next() {
		t.turns.MoveToBack(e)
	}
	l.requests.Remove(r.place)
	r.place = nil
	if l.requests.Len() == 0 {
		t.turns.Remove(e)
		delete(t.lines, l.member)
	}
}
