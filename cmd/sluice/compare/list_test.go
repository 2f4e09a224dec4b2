package compare

import (
	"io"
	"strings"
	"testing"
)

// TestListsAreReadAsTheyArrive: each object is seen before the next one is sent, so that one is in memory at a time.
func TestListsAreReadAsTheyArrive(t *testing.T) {
	out, in := io.Pipe()
	seen := make(chan string)
	go func() {
		_, _ = io.WriteString(in, `{"kind":"PodList","metadata":{"resourceVersion":"7","continue":"c"},"items":[`)
		separator := ""
		for _, name := range []string{"a", "b", "c"} {
			_, _ = io.WriteString(in, separator+`{"metadata":{"namespace":"n","name":"`+name+`"}}`)
			if got := <-seen; got != "n/"+name {
				t.Errorf("%s instead of %s", got, name)
			}
			separator = ","
		}
		_, _ = io.WriteString(in, "]}")
		in.Close()
	}()
	meta, err := readList(out, func(key string, _ object) { seen <- key })
	if err != nil || meta != (listMeta{"7", "c"}) {
		t.Errorf("%+v %v", meta, err)
	}
}

func TestObjectsAreEqualByWhatTheyMean(t *testing.T) {
	const one = `{"metadata":{"name":"a","resourceVersion":"5"},"data":{"b":"<","n":9007199254740993,"f":8.0}}`
	for text, equal := range map[string]bool{
		one: true,
		`{"data": {"n":9007199254740993, "f":8.0, "b":"\u003c"}, "metadata": {"resourceVersion":"5","name":"a"}}`: true,
		strings.Replace(one, "993", "992", 1):        false, // the same float
		strings.Replace(one, "8.0", "8", 1):          false, // another type in CBOR
		strings.Replace(one, `"<"`, `"<","c":""`, 1): false,
		strings.Replace(one, `"5"`, `"6"`, 1):        false,
	} {
		var got []object
		list := `{"metadata":{"resourceVersion":"7"},"items":[` + one + "," + text + `]}`
		if _, err := readList(strings.NewReader(list), func(_ string, o object) { got = append(got, o) }); err != nil {
			t.Fatal(err)
		}
		if (got[0] == got[1]) != equal {
			t.Errorf("equal to %s: %v", text, !equal)
		}
	}
}

func TestWhatIsNoCompleteListIsAnError(t *testing.T) {
	const list = `{"metadata":{"resourceVersion":"7"},"items":[{"metadata":{"name":"a"}},{"metadata":{"name":"b"}}]}`
	if _, err := readList(strings.NewReader(list), func(string, object) {}); err != nil {
		t.Fatal(err)
	}
	for i := range len(list) - 1 {
		if _, err := readList(strings.NewReader(list[:i]), func(string, object) {}); err == nil {
			t.Errorf("no error for %s", list[:i])
		}
	}
	for _, text := range []string{"<html>", "[]", "{}", `{"metadata":{"resourceVersion":"7"},"items":["a"]}`, `{"items":null}`} {
		if _, err := readList(strings.NewReader(text), func(string, object) {}); err == nil {
			t.Errorf("no error for %s", text)
		}
	}
}

func TestTheAgeOfAnAnswerMayBeUnknown(t *testing.T) {
	if v := Age("237118; age=0.412; proof=any-version"); v == nil || *v != 0.412 {
		t.Errorf("%v", v)
	}
	if v := Age("237118; proof=past-version"); v != nil {
		t.Errorf("%v", *v)
	}
}
