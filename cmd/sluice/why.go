package main

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"os"
	"slices"
	"strconv"
	"strings"

	"github.com/spf13/cobra"

	"sluice/proxy/see"
	"sluice/proxy/why"
)

// whyFlags are the command line flags of why.
type whyFlags struct {
	adminClient
	output             printer
	file, method, show string
	headers            []string
	last               int
	user               string
	groups             []string
}

func whyCommand() *cobra.Command {
	var f whyFlags
	c := &cobra.Command{
		Use:   "why (URL | -f FILE | --last N)",
		Short: "Say whether a request would be served or passed, and by which rule",
		Long: `Say whether a request would be served from the cache or passed to the apiserver if you made it now, and by which rule, or
print the last requests. It exits with 0 if the request is served, with 1 if it is passed or refused, and with 2 if the
answer is unknown.`,
		Example: `  sluice why '/api/v1/configmaps?resourceVersion=0' -o wide
  echo 'GET /api/v1/configmaps?watch=1&resourceVersion=0' | sluice why --filename -
  sluice why --last 20 --show served`,
		Args: cobra.MaximumNArgs(1),
		RunE: func(c *cobra.Command, args []string) error {
			return f.run(c.Context(), strings.Join(args, ""), c.InOrStdin(), c.OutOrStdout())
		},
	}
	set := f.prepare(c)
	f.output.register(c, "all rules")
	set.StringVarP(&f.file, "filename", "f", "", "path of a request as it is sent: a line of method and URL, and headers; - for stdin")
	set.StringVarP(&f.method, "request", "X", "", "method of the request, GET by default")
	set.StringArrayVarP(&f.headers, "header", "H", nil, "a header of the request, as Accept: application/json; no credentials")
	set.StringVar(&f.user, "as-user", "", "ask for another user, whom you may impersonate")
	set.StringArrayVar(&f.groups, "as-group", nil, "a group of that user")
	set.IntVar(&f.last, "last", 0, "print as many of the last requests")
	set.StringVar(&f.show, "show", why.Classes[0], "which of them: "+strings.Join(why.Classes[:], ", "))
	complete(c, "show", why.Classes[:]...)
	return c
}

func (f *whyFlags) run(ctx context.Context, target string, in io.Reader, out io.Writer) error {
	switch {
	case !slices.Contains(why.Classes[:], f.show):
		return unknown(fmt.Errorf("--show: %q is none of %s", f.show, strings.Join(why.Classes[:], ", ")))
	case f.last > 0:
		return unknown(f.printLast(ctx, out))
	}
	q, err := f.question(target, in)
	if err != nil {
		return unknown(err)
	}
	body, err := json.Marshal(q)
	if err != nil {
		return unknown(err)
	}
	e := see.WhyExplanation{Explanation: &why.Explanation{}}
	if body, err = f.read(ctx, http.MethodPost, "why", body, "Explanation", &e); err != nil {
		return unknown(err)
	}
	if err := f.output.print(out, json.RawMessage(body), explanationText(e.Explanation, f.output.format == "wide")); err != nil {
		return err
	}
	switch e.Verdict {
	case why.Served:
		return nil
	case why.Unknown, "":
		return exitError{nil, exitUnknown}
	}
	return exitError{nil, exitNotWell}
}

// question returns what is asked about.
func (f *whyFlags) question(target string, in io.Reader) (q why.Question, err error) {
	switch {
	case (target == "") == (f.file == ""):
		return q, errors.New("give either a URL or --filename")
	case f.file == "-":
		var text []byte
		if text, err = io.ReadAll(io.LimitReader(in, 1<<20)); err == nil {
			q, err = why.ParseRequest(string(text))
		}
	case f.file != "":
		var text []byte
		if text, err = os.ReadFile(f.file); err == nil {
			q, err = why.ParseRequest(string(text))
		}
	default:
		q.URL = target
	}
	if err != nil {
		return q, err
	}
	if u, err := url.Parse(q.URL); err == nil && u.Host != "" { // as kubectl --v=6 prints it
		q.URL = u.RequestURI()
	}
	header, err := why.ParseHeader(strings.Join(f.headers, "\n"))
	if q.Header == nil {
		q.Header = http.Header{}
	}
	for name, values := range header {
		q.Header[name] = values
	}
	if f.method != "" {
		q.Method = f.method
	}
	q.User, q.Groups = f.user, f.groups
	return q, err
}

// explanationText returns an explanation for people: the rules that matter, or all of them.
func explanationText(e *why.Explanation, wide bool) []byte {
	var out bytes.Buffer
	fmt.Fprintf(&out, "%s %s\n", text(strings.ToUpper(string(e.Verdict))), text(strings.Trim(e.Reason+": "+e.Sentence, ": ")))
	t := table{}
	for _, r := range e.Rules {
		if wide || r.Answer == why.No || r.Answer == why.Unsure {
			t.row("  "+strconv.Itoa(r.N), r.Rule, string(r.Answer), r.Facts)
		}
	}
	out.Write(t.bytes())
	if e.Do != "" {
		fmt.Fprintf(&out, "Do: %s; see %s\n", text(e.Do), text(e.Doc))
	}
	return out.Bytes()
}

// printLast prints the last requests.
func (f *whyFlags) printLast(ctx context.Context, out io.Writer) error {
	var list see.WhyList
	if _, err := f.get(ctx, "why", url.Values{"show": {f.show}}, "RequestList", &list); err != nil {
		return err
	}
	list.Items = list.Items[:min(len(list.Items), f.last)]
	t := newTable("ID TIME VERB RESOURCE USER AGENT REASON CODE")
	for _, s := range list.Items {
		t.row(s.ID, s.At.UTC().Format("15:04:05"), s.Verb, s.Resource, s.User, s.Agent, s.Reason, s.Code)
	}
	people := t.bytes()
	if len(list.Items) == 0 {
		people = fmt.Appendf(nil, "There is no %s request since the start; --show chooses %s.\n", f.show, strings.Join(why.Classes[:], ", "))
	}
	return f.output.answer(out, list, people, true)
}
