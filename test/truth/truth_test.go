package truth

import (
	"flag"
	"fmt"
	"os"
	"strings"
	"testing"

	"github.com/gammaguard/gammaguard/internal/cli/proxies"
	"github.com/gammaguard/gammaguard/mesh"
	"github.com/gammaguard/gammaguard/test/truth/cilium"
	"github.com/gammaguard/gammaguard/test/truth/istio"
	"github.com/gammaguard/gammaguard/test/worlds"
	"github.com/gammaguard/gammaguard/traffic"
)

var (
	seed     = flag.Uint64("seed", 1, "the first world's `seed`")
	requests = flag.Int("requests", 2000, "how many requests are compared in each kind of worlds")
	show     = flag.Int("show", 0, "how many of the requests that differ are shown in full")
	only     = flag.String("mesh", "", "the `mesh` to compare alone: istio or cilium")
	page     = flag.String("page", "", "the `file` that what was found is written to")
)

// differing is the largest part of the requests that may differ.
const differing = 0.001

// each is how many requests each world gets.
const each = 100

// meshes are those whose own code is asked.
var meshes = []struct {
	name mesh.ProfileName
	// source names the code.
	source    string
	translate func(*testing.T, *worlds.World) func(*traffic.Request) (*proxies.Answer, error)
}{
	{mesh.Istio, "istio.io/istio of 2026-08-27, the control plane over objects in memory", istio.Translate},
	{mesh.Cilium, "github.com/cilium/cilium v1.20.2, the operator's translation of routes on Services to a CiliumEnvoyConfig", cilium.Translate},
}

// TestTruth compares trace with the meshes' own code.
func TestTruth(t *testing.T) {
	istio.Quiet()
	var all []*tally
	for i := range meshes {
		m := &meshes[i]
		if *only != "" && *only != string(m.name) {
			continue
		}
		for _, plain := range []bool{true, false} {
			c := &tally{mesh: mesh.FindProfile(m.name), source: m.source, plain: plain, classes: map[string]int{}}
			c.run(t, m.translate)
			if part := float64(c.compared-c.agreed) / float64(c.compared); part > differing {
				t.Errorf("%s: %.2f %% of the requests differ, want %.1f %% at most", c.mesh.Title, 100*part, 100*differing)
			}
			t.Logf("%s, plain %t: %d of %d, %v", c.mesh.Title, plain, c.agreed, c.compared, c.classes)
			all = append(all, c)
		}
	}
	if *page != "" {
		if err := os.WriteFile(*page, []byte(text(all)), 0o644); err != nil { //nolint:gosec // a page that all may read
			t.Fatal(err)
		}
	}
}

// tally counts the requests to worlds of a kind under a mesh.
type tally struct {
	mesh             *mesh.Profile
	source           string
	plain            bool
	compared, agreed int
	// classes are the requests that differ, by the aspects in which they do.
	classes map[string]int
}

func (c *tally) run(t *testing.T, translate func(*testing.T, *worlds.World) func(*traffic.Request) (*proxies.Answer, error)) {
	t.Helper()
	for i := range max(1, *requests/each) {
		seed := *seed + uint64(i)
		t.Run(fmt.Sprintf("%s/plain=%t/%d", c.mesh.Name, c.plain, seed), func(t *testing.T) {
			w := worlds.Random(seed, worlds.Options{Profile: c.mesh, Plain: c.plain})
			theirs := translate(t, w)
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
	reason := strings.Join(aspects, ", ")
	c.classes[reason]++
	if shown++; shown <= *show {
		t.Logf("%s\n%s\n%+v\nchosen %+v\nours   %s\ntheirs %s", reason, w, *r, trace.Chosen, ours, theirs)
	}
}
