package main

import (
	"bytes"
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"strconv"
	"strings"

	"github.com/spf13/cobra"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/rest"

	"sluice/cmd/sluice/compare"
	"sluice/proxy/clients"
	"sluice/proxy/request"
	"sluice/proxy/see"
	"sluice/proxy/why"
)

// whyFlags are the command line flags of why.
type whyFlags struct {
	adminClient
	output  printer
	show    choice
	headers []string
	last    int

	user, verb string
	code       int
}

func whyCommand() *cobra.Command {
	var f whyFlags
	c := &cobra.Command{
		Use:   "why (URL | --last N)",
		Short: "Make a request, and say whether it was served or passed, and why",
		Long: `Make a GET request to the Sluice of the kubeconfig, read the head of the answer, and say whether it was served from the
cache or passed to the apiserver, why, and what to do about it; or print the last requests. It exits with 0 if the request
was served, with 1 if it was passed or refused, and with 2 if the answer does not tell.`,
		Example: `  sluice why '/api/v1/configmaps?resourceVersion=0'
  sluice why '/api/v1/configmaps?watch=1&resourceVersion=0' -H 'Accept: application/vnd.kubernetes.protobuf' -o yaml
  sluice why --last 20 --show served`,
		Args: cobra.MaximumNArgs(1),
		RunE: func(c *cobra.Command, args []string) error {
			return f.run(c.Context(), strings.Join(args, ""), c.OutOrStdout())
		},
	}
	set := f.prepare(c)
	f.output.register(c, "")
	set.Lookup("kubeconfig").Usage = "path of the kubeconfig that leads to Sluice; with --last, for --pod"
	set.Lookup("context").Usage = "context of that kubeconfig"
	set.StringArrayVarP(&f.headers, "header", "H", nil, "a header of the request, as Accept: application/json")
	set.IntVar(&f.last, "last", 0, "print as many of the last requests, which the admin listener has")
	f.show = choice{"passed", clients.Outcomes[:]}
	f.show.register(c, "show", "", "which of them: "+strings.Join(clients.Outcomes[:], ", "))
	set.StringVar(&f.user, "user", "", "with --last, only users whose names contain this")
	set.StringVar(&f.verb, "verb", "", "with --last, only this verb, such as list")
	set.IntVar(&f.code, "code", 0, "with --last, only this code, such as 403")
	return c
}

func (f *whyFlags) run(ctx context.Context, target string, out io.Writer) error {
	switch {
	case (target == "") == (f.last <= 0):
		return errors.New("give either a URL, such as /api/v1/pods, or --last")
	case f.last <= 0 && (f.user != "" || f.verb != "" || f.code != 0):
		return errors.New("--user, --verb and --code choose among the last requests: add --last")
	case f.last > 0:
		return f.printLast(ctx, out)
	}
	e, err := f.explain(ctx, target)
	if err != nil {
		return err
	}
	if err := f.output.print(out, e, explanationText(e)); err != nil {
		return err
	}
	switch e.Verdict {
	case "served":
		return nil
	case why.Unknown:
		return errors.New("the answer does not tell whether it was served")
	}
	return no{}
}

// explain makes a request, and reads the head of the answer.
func (f *whyFlags) explain(ctx context.Context, target string) (*why.Explanation, error) {
	cfg, err := restConfig(f.pod.kubeconfig, f.pod.context)
	if err != nil {
		return nil, err
	}
	client, err := rest.HTTPClientFor(cfg)
	if err != nil {
		return nil, err
	}
	defer client.CloseIdleConnections()
	server, _, err := rest.DefaultServerUrlFor(cfg)
	if err != nil {
		return nil, err
	}
	u, err := url.Parse(target) // whole, as kubectl --v=6 prints it, or from its path on
	if err != nil || !strings.HasPrefix(u.Path, "/") {
		return nil, fmt.Errorf("%q is no URL, and no path such as /api/v1/pods", target)
	}
	target = server.Scheme + "://" + server.Host + strings.TrimSuffix(server.Path, "/") + u.RequestURI()
	ctx, cancel := context.WithTimeout(ctx, f.timeout)
	defer cancel()
	r, err := http.NewRequestWithContext(ctx, http.MethodGet, target, nil)
	if err != nil {
		return nil, err
	}
	r.Header.Set("Accept", "application/json")
	for _, line := range f.headers {
		name, value, found := strings.Cut(line, ":")
		if !found {
			return nil, errors.New("--header: a header has a name, a colon and a value")
		}
		r.Header.Set(strings.TrimSpace(name), strings.TrimSpace(value))
	}
	r.Header.Set(request.SourceHeader, request.Asked)
	r.Header.Set(request.AsOfHeader, request.Asked)
	resp, err := client.Do(r)
	if err != nil {
		return nil, connecting(err, cfg.Host, "--kubeconfig")
	}
	defer resp.Body.Close()
	return explanationOf(resp), nil
}

// explanationOf explains an answer by its head, and a refusal also by its message.
func explanationOf(resp *http.Response) *why.Explanation {
	source, reason, _ := strings.Cut(resp.Header.Get(request.SourceHeader), "; ")
	reason, _, _ = strings.Cut(reason, "; ")
	verdicts := map[string]string{"cache": "served", "upstream": "passed", "gateway": "refused"}
	answer := "the answer is " + resp.Status
	var status metav1.Status
	if resp.StatusCode >= http.StatusBadRequest {
		body, _ := io.ReadAll(io.LimitReader(resp.Body, 64<<10)) // the code says enough
		if json.Unmarshal(body, &status) == nil && status.Message != "" {
			answer += ": " + status.Message
		}
	}
	if age := compare.Age(resp.Header.Get(request.AsOfHeader)); age != nil {
		answer += fmt.Sprintf("; its state was known to be the newest %v s ago", *age)
	}
	e := why.New(verdicts[source], reason, answer)
	if e.Verdict != "" {
		return e
	}
	switch e.Verdict = why.Unknown; {
	case strings.HasPrefix(status.Message, "Sluice: "): // a request that it refuses before it knows the caller
		e.Verdict = "refused"
	case resp.StatusCode == http.StatusUnauthorized, resp.StatusCode == http.StatusForbidden:
		e.Verdict, e.Do = "refused", "the credentials and rights of this user decide; without them Sluice tells no more"
	case resp.StatusCode == http.StatusNotFound:
		e.Do = "look whether the path is right; of what is not there Sluice tells no more"
	default:
		e.Do = "make a kubeconfig that leads to Sluice by sluice kubeconfig --server: the answer has no header " + request.SourceHeader
	}
	return e
}

// explanationText returns an explanation for people.
func explanationText(e *why.Explanation) []byte {
	var out bytes.Buffer
	fmt.Fprintf(&out, "%s %s\n", text(strings.ToUpper(e.Verdict)), text(strings.TrimPrefix(e.Reason+": "+e.Sentence, ": ")))
	if e.Do != "" {
		fmt.Fprintf(&out, "Do: %s\n", text(strings.TrimSuffix(e.Do+"; see "+e.Doc, "; see ")))
	}
	return out.Bytes()
}

// printLast prints the last requests.
func (f *whyFlags) printLast(ctx context.Context, out io.Writer) error {
	q := url.Values{"show": {f.show.value}, "user": {f.user}, "verb": {f.verb}}
	if f.code != 0 {
		q.Set("code", strconv.Itoa(f.code))
	}
	_, all, missing := getAll[see.WhyList](ctx, f.adminClient, "why", q, "RequestList")
	if len(all) == 0 {
		return missing
	}
	list := all[0]
	for _, other := range all[1:] {
		list.Items = append(list.Items, other.Items...)
	}
	list.Items = why.Newest(list.Items, f.last)
	people := tableText(see.RequestTable(list.Items), false, f.output.width(out))
	if len(list.Items) == 0 {
		people = fmt.Appendf(nil, "There is no such %s request since the start; --show chooses %s.\n", f.show.value, strings.Join(clients.Outcomes[:], ", "))
	}
	return cmp.Or(missing, f.output.print(out, list, people))
}
