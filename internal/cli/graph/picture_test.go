package graph

import (
	"fmt"
	"math/rand/v2"
	"os"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/gammaguard/gammaguard/config"
	"github.com/gammaguard/gammaguard/internal/cli/check"
	"github.com/gammaguard/gammaguard/internal/cli/source"
	"github.com/gammaguard/gammaguard/internal/definitions"
	"github.com/gammaguard/gammaguard/mesh"
	"github.com/gammaguard/gammaguard/validate"
)

// area is a rectangle: of a box, or of a text.
type area struct {
	what                     string
	left, top, right, bottom float64
}

func (a *area) meets(b *area) bool {
	return a.left < b.right && b.left < a.right && a.top < b.bottom && b.top < a.bottom
}

// drawn returns the pictures of random routes: on several ports, of producers and consumers, with names up to the
// longest that there are, and rules with several matches and backends.
func drawn(t *testing.T, seed uint64, routes int) []*picture {
	t.Helper()
	random := rand.New(rand.NewPCG(seed, 1)) //nolint:gosec // it is to be the same each time
	name := func(prefix string) string {
		if random.IntN(20) == 0 {
			return prefix + strings.Repeat("-long", 1+random.IntN(48))
		}
		return prefix
	}
	var text strings.Builder
	for i := range 3 {
		fmt.Fprintf(&text, "---\n{apiVersion: v1, kind: Service, metadata: {name: s%d, namespace: shop}, spec: {ports: [{name: a, port: 80}, {name: b, port: 81}]}}\n", i)
	}
	for i := range routes {
		namespace := []string{"shop", "shop", "faces"}[random.IntN(3)]
		var rules []string
		for range 1 + random.IntN(3) {
			var matches, backends []string
			for range random.IntN(3) {
				matches = append(matches, fmt.Sprintf("{path: {value: %q}, headers: [{name: tenant, value: gold}]}", name("/v"+strconv.Itoa(random.IntN(5)))))
			}
			for range random.IntN(4) {
				backends = append(backends, fmt.Sprintf("{name: %s, port: 80, weight: %d}", name("b"+strconv.Itoa(random.IntN(6))), random.IntN(5)))
			}
			rules = append(rules, fmt.Sprintf("{matches: [%s], backendRefs: [%s]}", strings.Join(matches, ","), strings.Join(backends, ",")))
		}
		port := ""
		if random.IntN(2) == 0 {
			port = fmt.Sprintf(", port: %d", 80+random.IntN(3))
		}
		fmt.Fprintf(&text, "---\n{apiVersion: gateway.networking.k8s.io/v1, kind: HTTPRoute, metadata: {name: %s, namespace: %s}, spec: {parentRefs: [{group: '', kind: Service, namespace: shop, name: s%d%s}], rules: [%s]}}\n",
			name("r"+strconv.Itoa(i)), namespace, random.IntN(3), port, strings.Join(rules, ","))
	}
	options := &check.Options{Options: source.Options{Stdin: strings.NewReader(text.String())}, Files: []string{source.Stdin}, Config: config.Default(), Channel: definitions.Standard}
	read, err := check.LoadTraffic(t.Context(), options)
	if err != nil {
		t.Fatal(err)
	}
	g, err := Draw(read.Reader(), read.Routes(), options.Config.Policy(), Selection{}, validate.Only(validate.GrantMissing)|validate.Only(validate.ConsumerRefused), nil)
	if err != nil {
		t.Fatal(err)
	}
	for _, row := range g.Rows {
		if namespace, _, _ := strings.Cut(strings.TrimPrefix(row.Route.Route, "HTTPRoute "), "/"); (row.Role() == "producer") != (namespace == "shop") {
			t.Errorf("%s on Service shop/%s, %s: %q", row.Route.Route, row.Port(), row.State, row.Role())
		}
	}
	return g.pictures()
}

// TestLegend: each state has a meaning, which is that of docs/graph.md.
func TestLegend(t *testing.T) {
	page, err := os.ReadFile("../../../docs/graph.md")
	if err != nil {
		t.Fatal(err)
	}
	for _, state := range states() {
		row := regexp.MustCompile("(?m)^\\| `" + string(state) + "` \\| [a-z, ]+ \\| (.*)").FindSubmatch(page)
		if meaning := styles[state].meaning; meaning == "" || row == nil || !strings.HasPrefix(string(row[1]), meaning) {
			t.Errorf("%s: %q, the page has %q", state, meaning, row)
		}
	}
}

var number = regexp.MustCompile(`\d+`)

// points are those that a line goes through: straight, in a bend, and straight.
func (l *line) points(t *testing.T) (points [][2]float64) {
	t.Helper()
	var n []float64
	for _, text := range number.FindAllString(l.Path, -1) {
		v, err := strconv.Atoi(text)
		if err != nil {
			t.Fatal(err)
		}
		n = append(n, float64(v))
	}
	for s := 0.0; s <= 1; s += 0.02 {
		points = append(points, [2]float64{n[0] + s*(n[2]-n[0]), n[1]}, [2]float64{n[7] + s*(n[9]-n[7]), n[8]})
		u := 1 - s
		bezier := func(a, b, c, d float64) float64 { return u*u*u*a + 3*u*u*s*b + 3*u*s*s*c + s*s*s*d }
		points = append(points, [2]float64{bezier(n[2], n[3], n[5], n[7]), bezier(n[1], n[4], n[6], n[8])})
	}
	return points
}

// TestPictures: no line crosses a box, no box or text covers another, and everything is inside the picture, with
// the names of backends in full.
func TestPictures(t *testing.T) {
	lines, classes := 0, 0
	for seed := range uint64(60) {
		for _, p := range drawn(t, seed, 1+int(seed%20)) {
			var boxes, texts []area
			for _, b := range p.Boxes {
				boxes = append(boxes, area{b.ID, float64(b.X), float64(b.Y), float64(b.X + b.Width), float64(b.Y + b.Height)})
				for _, text := range b.Labels {
					if wide := letter * float64(len(text)); wide > float64(b.Width-16) {
						t.Errorf("seed %d: %q does not fit into its box", seed, text)
					}
				}
				if shown := strings.Join(b.Labels, ""); strings.ReplaceAll(shown, " ", "") != strings.ReplaceAll(b.Full, " ", "") {
					t.Errorf("seed %d: box %q shows %q", seed, b.Full, shown)
				}
			}
			for _, l := range p.Lines {
				lines++
				for i, text := range []label{l.Start, l.End} {
					wide := small * float64(len([]rune(text.Text)))
					a := area{text.Text, float64(text.X), float64(text.Y - 10), float64(text.X) + wide, float64(text.Y + 3)}
					if i == 1 {
						a.left, a.right = float64(text.X)-wide, float64(text.X)
					}
					if text.Text != "" {
						texts = append(texts, a)
					}
				}
				for _, point := range l.points(t) {
					for i, b := range boxes {
						if box := p.Boxes[i]; box != l.from && box != l.to && point[0] > b.left && point[0] < b.right && point[1] > b.top && point[1] < b.bottom {
							t.Fatalf("seed %d: line %s crosses box %s", seed, l.Full, box.Full)
						}
					}
				}
			}
			for _, class := range p.Classes {
				classes++
				for _, id := range strings.Fields(class.Drawn) {
					if !slices.ContainsFunc(p.Boxes, func(b *box) bool { return b.ID == id }) && !slices.ContainsFunc(p.Lines, func(l *line) bool { return l.ID == id }) {
						t.Errorf("seed %d: class %s has %s, which is not drawn", seed, class.Text, id)
					}
				}
				if class.Outcome == "" {
					t.Errorf("seed %d: class %s has no outcome", seed, class.Text)
				}
			}
			all := slices.Concat(boxes, texts)
			for i := range all {
				if a := &all[i]; a.left < 0 || a.top < 0 || a.right > float64(p.Width) || a.bottom > float64(p.Height) {
					t.Errorf("seed %d: %s is not inside the picture: %+v", seed, a.what, a)
				}
				for j := range all[:i] {
					if all[i].meets(&all[j]) {
						t.Fatalf("seed %d: %+v covers %+v", seed, all[i], all[j])
					}
				}
			}
		}
	}
	if lines < 1000 || classes < 300 {
		t.Errorf("only %d lines and %d classes were looked at", lines, classes)
	}
}

// TestDrops: a rule says what the mesh does not do of it, in the picture and on the line.
func TestDrops(t *testing.T) {
	route := &mesh.Route{Kind: mesh.HTTPRoute, Spec: mesh.RouteSpec{Rules: []mesh.RouteRule{
		{Timeouts: &mesh.Timeouts{Request: "1s"}},
		{Filters: []mesh.Filter{{Type: mesh.URLRewriteFilter}, {Type: mesh.URLRewriteFilter}}, Timeouts: &mesh.Timeouts{Request: "1s"}},
		{},
	}}}
	profile := &mesh.Profile{Fields: []mesh.FieldFact{
		{Field: mesh.RequestTimeout, Fact: mesh.Fact[mesh.Treatment]{Value: mesh.Ignored}},
		{Field: mesh.RuleFilter(mesh.URLRewriteFilter), Fact: mesh.Fact[mesh.Treatment]{Value: mesh.RequestFails}},
	}}
	for name, test := range map[string]struct {
		profile *mesh.Profile
		want    []string
	}{
		"the specification": {nil, []string{"", "", ""}},
		"a mesh":            {profile, []string{"ignores timeouts.request", "fails requests because of a URLRewrite filter", ""}},
	} {
		if got := drops(route, test.profile); !slices.Equal(got, test.want) {
			t.Errorf("%s: %q", name, got)
		}
	}
	r := rule{match: "/a*", targets: []target{{"shop", "cart:80", ""}}, drops: "ignores retry"}
	if got, want := r.text(), "/a* → shop/cart:80 (the mesh ignores retry)"; got != want || r.edge(&r.targets[0]) != "/a* (the mesh ignores retry)" {
		t.Error(got)
	}
}

// TestMirrors: a mirror of a part of the requests has it, and a share of a weight is as in a trace.
func TestMirrors(t *testing.T) {
	ten, none, three := int32(10), int32(0), int32(3)
	mirror := func(name string, percent *int32, fraction *mesh.Fraction) mesh.Filter {
		return mesh.Filter{Type: mesh.RequestMirrorFilter, RequestMirror: &mesh.RequestMirror{BackendRef: mesh.BackendRef{Name: name, Port: 80}, Percent: percent, Fraction: fraction}}
	}
	route := &mesh.Route{Kind: mesh.HTTPRoute, Metadata: mesh.Metadata{Namespace: "shop"}, Spec: mesh.RouteSpec{Rules: []mesh.RouteRule{{
		Filters: []mesh.Filter{
			mirror("all", nil, nil), mirror("some", &ten, nil), mirror("third", nil, &mesh.Fraction{Numerator: 1, Denominator: &three}),
			mirror("rejected", nil, &mesh.Fraction{Numerator: 1, Denominator: &none}),
		},
		BackendRefs: []mesh.BackendRef{{Name: "cart", Port: 80}, {Name: "new", Port: 80, Weight: &three}},
	}}}}
	const want = "any → shop/all:80 mirror, shop/some:80 mirror 10 %, shop/third:80 mirror 33.33 %, shop/rejected:80 mirror 1 %, shop/cart:80 25 %, shop/new:80 75 %"
	if got := rulesOf(route, nil)[0].text(); got != want {
		t.Errorf("want %s, got %s", want, got)
	}
}

// TestBetter: requests that take a line by a Service are drawn before those that take it by a Gateway, and these before none.
func TestBetter(t *testing.T) {
	for _, state := range validate.States() {
		if better(state, Bypasses) != state.InEffect() || better(Bypasses, state) == state.InEffect() {
			t.Errorf("%s beside %s", state, Bypasses)
		}
	}
	if better(Bypasses, Bypasses) || !better(validate.Applies, validate.Loses) || better(validate.Loses, validate.Applies) {
		t.Error("the order of states")
	}
}
