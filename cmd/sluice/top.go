package main

import (
	"bytes"
	"context"
	"fmt"
	"io"
	"net/url"
	"os"
	"slices"
	"strings"
	"time"

	tea "charm.land/bubbletea/v2"
	"github.com/spf13/cobra"
	"golang.org/x/term"

	"sluice/proxy/clients"
	"sluice/proxy/see"
)

// topFlags are the command line flags of top.
type topFlags struct {
	adminClient
	output printer
	once   bool
	by     string
}

// topViews are what top can show.
var topViews = []string{"resources", "clients", "watches"}

func topCommand() *cobra.Command {
	var f topFlags
	c := &cobra.Command{
		Use:   "top [resources|clients|watches]",
		Short: "Show what a Sluice does, every two seconds",
		Long: `Show what a Sluice does, every two seconds: its resources, the clients that cost most, or the watches that are furthest
behind. The keys r, c and w choose among them, s sorts clients by another column, and q ends it. Without a terminal, or
with --once, it prints one answer, and exits as status does.`,
		Example: `  sluice top
  sluice top clients --sort-by cost
  sluice top watches --once -o json`,
		ValidArgs: topViews,
		Args:      cobra.MatchAll(cobra.MaximumNArgs(1), cobra.OnlyValidArgs),
		RunE: func(c *cobra.Command, args []string) error {
			view := append(args, topViews[0])[0]
			return f.run(c.Context(), view, c.InOrStdin(), c.OutOrStdout())
		},
	}
	set := f.prepare(c)
	f.output.register(c, "more columns")
	set.BoolVar(&f.once, "once", false, "print one answer, as all formats but text do")
	set.StringVar(&f.by, "sort-by", topOrders[0], "what to sort clients by: "+strings.Join(topOrders, ", "))
	complete(c, "sort-by", topOrders...)
	return c
}

// topOrders are what clients can be sorted by.
var topOrders = []string{"would-cost", "cost", "cpu", "lists", "bytes", "watches", "behind", "refused", "hints", "passed"}

func (f *topFlags) run(ctx context.Context, view string, in io.Reader, out io.Writer) error {
	screen, ok := out.(*os.File)
	if f.once || f.output.format != "text" || !ok || !term.IsTerminal(int(screen.Fd())) {
		return f.printOnce(ctx, view, out)
	}
	t := &top{topFlags: f, ctx: ctx, view: view}
	_, err := tea.NewProgram(t, tea.WithContext(ctx), tea.WithInput(in), tea.WithOutput(out)).Run()
	if ctx.Err() != nil { // it was interrupted
		return nil
	}
	return unknown(err)
}

// shown is what is shown of a view.
type shown struct {
	see.Status
	list any // nil for resources
	text []byte
}

// show returns what a view shows.
func (f *topFlags) show(ctx context.Context, view string) (a shown, err error) {
	wide := f.output.format == "wide"
	if _, err = f.get(ctx, "status", nil, "Status", &a.Status); err != nil {
		return a, err
	}
	switch view {
	case "clients":
		l := &clients.ClientList{}
		_, err = f.get(ctx, "clients", url.Values{"by": {f.by}}, "ClientList", l)
		a.list, a.text = l, clientsText(l, wide)
	case "watches":
		l := &clients.OpenWatchList{}
		_, err = f.get(ctx, "watches", nil, "OpenWatchList", l)
		a.list, a.text = l, watchesText(l, wide)
	default:
		a.list, a.text = a.Status, resourcesText(&a.Status, wide)
	}
	return a, err
}

func (f *topFlags) printOnce(ctx context.Context, view string, out io.Writer) error {
	a, err := f.show(ctx, view)
	if err != nil {
		return unknown(err)
	}
	return f.output.answer(out, a.list, append([]byte(headline(&a.Status)+"\n"), a.text...), a.Well())
}

// headline says in one line how a Sluice is.
func headline(s *see.Status) string {
	return fmt.Sprintf("%s %s  reads %.1f/s  served %s  saved at least %.3f cores, spent %.3f", s.Mark(), s.State,
		s.Reads.ServedPerSec+s.Reads.PassedPerSec, servedText(s.Reads), s.Saved.Cores, s.Saved.SpentCores)
}

// top is the live screen.
type top struct {
	*topFlags
	ctx           context.Context
	view          string
	width, height int
	shown         shown
	err           error
}

// answered is an answer, and of which view.
type answered struct {
	view string
	shown
	err error
}

// refresh is the time for a new answer.
type refresh struct{}

const refreshEvery = 2 * time.Second

// Init implements tea.Model.
func (t *top) Init() tea.Cmd { return t.fetch() }

// fetch asks for what is to be shown.
func (t *top) fetch() tea.Cmd {
	view, flags := t.view, *t.topFlags
	return func() tea.Msg {
		a, err := flags.show(t.ctx, view)
		return answered{view, a, err}
	}
}

// Update implements tea.Model.
func (t *top) Update(m tea.Msg) (tea.Model, tea.Cmd) {
	switch m := m.(type) {
	case tea.WindowSizeMsg:
		t.width, t.height = m.Width, m.Height
	case refresh:
		return t, t.fetch()
	case answered:
		t.err = m.err
		if m.err == nil && m.view == t.view {
			t.shown = m.shown
		}
		return t, tea.Tick(refreshEvery, func(time.Time) tea.Msg { return refresh{} })
	case tea.KeyPressMsg:
		return t, t.key(m.String())
	}
	return t, nil
}

// key does what a key asks for. What it shows comes with the next answer.
func (t *top) key(name string) tea.Cmd {
	switch name {
	case "q", "esc", "ctrl+c":
		return tea.Quit
	case "s":
		t.by = topOrders[(slices.Index(topOrders, t.by)+1)%len(topOrders)]
	default:
		for _, view := range topViews {
			if view[:1] == name {
				t.view, t.shown.text = view, nil
			}
		}
	}
	return nil
}

// View implements tea.Model.
func (t *top) View() tea.View {
	v := tea.NewView(t.frame())
	v.AltScreen = true
	return v
}

// frame returns the screen: as many lines and characters as fit.
func (t *top) frame() string {
	head := "Sluice " + t.address
	if t.shown.Facts != nil {
		head = headline(&t.shown.Status)
	}
	keys := "[r]esources [c]lients [w]atches [q]uit   " + t.view
	if t.view == "clients" {
		keys += ", [s]orted by " + t.by
	}
	lines := []string{head, keys}
	if t.err != nil {
		lines = append(lines, "No news: "+text(t.err.Error()))
	}
	for line := range bytes.Lines(t.shown.text) {
		lines = append(lines, strings.TrimRight(string(line), "\n"))
	}
	lines = lines[:min(len(lines), t.height)]
	for i, line := range lines {
		runes := []rune(line)
		lines[i] = string(runes[:min(len(runes), t.width)])
	}
	return strings.Join(lines, "\n")
}
