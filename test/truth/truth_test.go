package truth

import (
	"flag"
	"fmt"
	"os"
	"slices"
	"strings"
	"testing"

	"github.com/gammaguard/gammaguard/internal/cli/proxies"
	"github.com/gammaguard/gammaguard/mesh"
	"github.com/gammaguard/gammaguard/test/truth/istio"
	"github.com/gammaguard/gammaguard/test/worlds"
	"github.com/gammaguard/gammaguard/traffic"
)

var (
	seed     = flag.Uint64("seed", 1, "the first world's `seed`")
	requests = flag.Int("requests", 2000, "how many requests are compared in each kind of worlds")
	show     = flag.Int("show", 0, "how many of the requests that differ are shown in full")
	page     = flag.String("page", "", "the `file` that what was found is written to")
)

// each is how many requests each world gets.
const each = 100

// promised is the least part of the requests to plain worlds that must agree.
const promised = 0.999

// TestTruth compares trace with Istio's own code.
func TestTruth(t *testing.T) {
	istio.Quiet()
	plain, all := &tally{plain: true, classes: map[string]int{}}, &tally{classes: map[string]int{}}
	plain.run(t)
	all.run(t)
	if part := float64(plain.agreed) / float64(plain.compared); part < promised {
		t.Errorf("trace agrees on %.2f %% of the requests to HTTPRoutes without filters, want %.1f %%: %v", 100*part, 100*promised, plain.classes)
	}
	t.Logf("plain %d of %d; all %d of %d: %v", plain.agreed, plain.compared, all.agreed, all.compared, all.classes)
	if *page != "" {
		if err := os.WriteFile(*page, []byte(text(plain, all)), 0o644); err != nil { //nolint:gosec // a page that all may read
			t.Fatal(err)
		}
	}
}

// tally counts the requests to worlds of a kind.
type tally struct {
	plain            bool
	compared, agreed int
	// classes are the requests that differ, by the reason.
	classes map[string]int
}

func (c *tally) run(t *testing.T) {
	t.Helper()
	for i := range max(1, *requests/each) {
		seed := *seed + uint64(i)
		t.Run(fmt.Sprintf("plain=%t/%d", c.plain, seed), func(t *testing.T) {
			w := worlds.Random(seed, worlds.Options{Profile: mesh.FindProfile(mesh.Istio), Plain: c.plain})
			theirs := istio.Translate(t, w)
			table, err := w.Table()
			if err != nil {
				t.Fatal(err)
			}
			for _, r := range w.Requests(each) {
				c.compare(t, w, table, &r, theirs)
			}
		})
	}
}

// shown counts the requests that differ.
var shown int

func (c *tally) compare(t *testing.T, w *worlds.World, table *traffic.Table, r *traffic.Request, answer func(*traffic.Request) (*proxies.Answer, error)) {
	t.Helper()
	trace, err := table.Trace(*r)
	if err != nil {
		t.Fatal(err)
	}
	theirs, err := answer(r)
	if err != nil {
		t.Fatal(err)
	}
	c.compared++
	ours := proxies.Ours(&trace.Outcome, r)
	aspects := ours.Differences(theirs)
	if len(aspects) == 0 {
		c.agreed++
		return
	}
	c.classes[class(w, aspects)]++
	if shown++; shown <= *show {
		t.Logf("%s\n%+v\nchosen %+v\nours   %s\ntheirs %s", w, *r, trace.Chosen, ours, theirs)
	}
}

// class returns the reason of a difference in these aspects.
func class(w *worlds.World, aspects []string) string {
	only := func(names ...string) bool {
		return !slices.ContainsFunc(aspects, func(aspect string) bool { return !slices.Contains(names, aspect) })
	}
	switch {
	case len(w.GRPC) > 0 && slices.Contains(aspects, "backends"):
		return "a world with GRPCRoutes: Istio matches them by path alone, whether or not the request is gRPC, and has its own order for rules without matches"
	case only("timeout", "backend timeout"):
		return "`timeouts.backendRequest` without `retry`: Istio makes it the timeout of the whole request, in place of `timeouts.request`"
	case only("path", "redirect"):
		return "`ReplacePrefixMatch`, mostly of the prefix `/`: Istio joins the new prefix and the rest of the path without a slash"
	}
	return "not explained: " + strings.Join(aspects, ", ")
}

// text returns the page.
func text(plain, all *tally) string {
	var out strings.Builder
	fmt.Fprintf(&out, `# What the meshes' own code says

<!-- Written by make truth; do not edit. -->

Random routes on a Service are translated by Istio's own control plane (module istio.io/istio of 2026-08-27), the route configurations
that it makes for sidecars are evaluated as Envoy's documentation describes, and each request is compared with what
`+"`trace` with `--mesh istio`"+` says of it. The worlds follow from seed %d.

| worlds | requests | agree |
|---|---|---|
| HTTPRoutes, producers and consumers, with and without ports, weights; no filters | %d | %.2f %% |
| HTTPRoutes and GRPCRoutes, with filters and timeouts; compared in every aspect | %d | %.2f %% |

What differs in the second kind of worlds:

| requests | reason |
|---|---|
`, *seed, plain.compared, 100*float64(plain.agreed)/float64(plain.compared), all.compared, 100*float64(all.agreed)/float64(all.compared))
	reasons := make([]string, 0, len(all.classes))
	for reason := range all.classes {
		reasons = append(reasons, reason)
	}
	slices.SortFunc(reasons, func(a, b string) int { return all.classes[b] - all.classes[a] })
	for _, reason := range reasons {
		fmt.Fprintf(&out, "| %d | %s |\n", all.classes[reason], reason)
	}
	out.WriteString(`
Not compared: TLSRoutes and TCPRoutes, retries, session persistence, and CORS. Cilium, Linkerd and Kuma are not held against their code
here: [Meshes](meshes.md) has the source of each fact about them, or that it was not observed.
`)
	return out.String()
}
