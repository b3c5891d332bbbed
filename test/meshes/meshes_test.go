package meshes

import (
	"maps"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"sigs.k8s.io/yaml"

	"github.com/gammaguard/gammaguard/config"
	"github.com/gammaguard/gammaguard/internal/cli/check"
	"github.com/gammaguard/gammaguard/internal/cli/report"
	"github.com/gammaguard/gammaguard/internal/definitions"
	"github.com/gammaguard/gammaguard/mesh"
	"github.com/gammaguard/gammaguard/validate"
)

// forbidden are the routes that a mesh reports as accepted and that gammaguard denies on
// every mesh, with the reason.
var forbidden = map[string]string{
	"r03-headless":              "GEP-1294, Allowed service types: a headless Service cannot be a parent",
	"r04-external-name":         "GEP-1294, Allowed service types: an ExternalName Service cannot be a parent",
	"r05-wrong-port":            "GEP-1294, Ports: the Service has no such port, so no request matches",
	"r07-section-unknown":       "GEP-1294, Ports: the Service has no port of that name",
	"r08-udp-port":              "GEP-1294, Ports: an HTTPRoute cannot serve a UDP port",
	"r15-backend-external-name": "GEP-1294, Allowed service types: an ExternalName Service cannot be a backend",
	"r29-port-section-differ":   "GEP-1294, Ports: port and sectionName must select the same port",
	"r33-duplicate-parent":      "Gateway API, ParentReference: a parent is referred to once; Istio adds an entry at each reconcile until status is full",
}

// observed reads what each mesh made of each route, by route and mesh; empty where the
// result was not kept.
func observed(t *testing.T) map[string]map[mesh.ProfileName]string {
	t.Helper()
	text, err := os.ReadFile("testdata/observed.yaml")
	if err != nil {
		t.Fatal(err)
	}
	var rows map[string]map[mesh.ProfileName]string
	if err := yaml.UnmarshalStrict(text, &rows); err != nil {
		t.Fatal(err)
	}
	return rows
}

var number = regexp.MustCompile(`^r\d+`)

// play checks all routes as the mesh's configuration has it, those with one number
// together, and returns the answers by route.
func play(t *testing.T, routes []string, name mesh.ProfileName) map[string]*report.Route {
	t.Helper()
	configuration := config.Default(config.WithMesh(name), func(c *config.GuardConfiguration) { c.Grants.Default = mesh.GrantAll })
	groups := map[string][]string{}
	for _, route := range routes {
		id := number.FindString(route)
		groups[id] = append(groups[id], filepath.Join("testdata", "routes", route+".yaml"))
	}
	answers := map[string]*report.Route{}
	for _, group := range slices.Sorted(maps.Keys(groups)) {
		r, err := check.Run(t.Context(), &check.Options{
			Files: append([]string{"testdata/world.yaml"}, groups[group]...), Config: configuration,
			Channel: definitions.Experimental, Complete: true,
		})
		if err != nil || len(r.Broken) > 0 {
			t.Fatalf("%s: %v, %v", group, err, r)
		}
		for i := range r.Routes {
			answers[r.Routes[i].Name] = &r.Routes[i]
		}
	}
	return answers
}

// answer is what gammaguard says to the route: whether it is denied, the rules and
// mutations that say something, and the reasons in status.
func answer(r *report.Route) (denied bool, text string) {
	var deny, warn []string
	for _, f := range r.Findings {
		switch f.Effect {
		case validate.Deny:
			deny = append(deny, f.Rule)
		case validate.Warn:
			warn = append(warn, f.Rule)
		}
	}
	for _, c := range r.Changes {
		warn = append(warn, c.Mutation)
	}
	unique := func(ids []string) string {
		slices.Sort(ids)
		return strings.Join(slices.Compact(ids), ", ")
	}
	if len(deny) > 0 {
		return true, "deny: " + unique(deny)
	}
	text = "admit"
	if len(warn) > 0 {
		text = "warn: " + unique(warn)
	}
	for _, parent := range r.Status.Parents {
		text += "; status " + parent.Conditions[0].Reason
	}
	return false, text
}

// TestProfiles: under the profile of a mesh, gammaguard admits in silence no route that
// the mesh ignores or refuses, in part or whole, and denies none that works there, unless
// the specification forbids it.
func TestProfiles(t *testing.T) {
	rows := observed(t)
	if len(rows) != 53 {
		t.Fatalf("%d routes, want 53", len(rows))
	}
	routes := slices.Sorted(maps.Keys(rows))
	excused := map[string]bool{}
	for _, profile := range mesh.Profiles() {
		answers := play(t, routes, profile.Name)
		for _, route := range routes {
			if answers[route] == nil {
				t.Fatalf("%s was not judged", route)
			}
			denied, said := answer(answers[route])
			saw := rows[route][profile.Name]
			switch works := regexp.MustCompile(`^A( x2)?$`).MatchString(saw); {
			case saw == "":
			case !works && said == "admit":
				t.Errorf("%s makes %q of %s, and gammaguard admits it in silence", profile.Title, saw, route)
			case strings.HasPrefix(saw, "A") && denied && forbidden[route] == "":
				t.Errorf("%s makes %q of %s, and gammaguard says %q", profile.Title, saw, route, said)
			case strings.HasPrefix(saw, "A") && denied:
				excused[route] = true
			}
		}
	}
	for route := range forbidden {
		if !excused[route] {
			t.Errorf("%s is listed as forbidden, and no mesh that accepts it shows it denied", route)
		}
	}
}
