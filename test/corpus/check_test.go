package corpus

import (
	"bytes"
	"net/http"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/gammaguard/gammaguard/config"
	"github.com/gammaguard/gammaguard/internal/cli/check"
	"github.com/gammaguard/gammaguard/internal/cli/explain"
	"github.com/gammaguard/gammaguard/internal/cli/report"
	"github.com/gammaguard/gammaguard/internal/cli/source"
	"github.com/gammaguard/gammaguard/internal/definitions"
	"github.com/gammaguard/gammaguard/test/bed/guard"
	"github.com/gammaguard/gammaguard/validate"
	catalog "github.com/gammaguard/gammaguard/validate/rules"
)

// guardConfig is the configuration of both sides.
const guardConfig = `
apiVersion: gammaguard.dev/v1alpha1
kind: GuardConfiguration
grants: {default: all}
`

// TestCheck compares what `gammaguard check` says of a route offline with what the user
// gets who applies it, by a server-side dry run, to a cluster with gammaguard: whether
// the route is admitted, who refuses it, each message with its field, and which rules
// and mutations warn. It does so for the routes of the corpus, which are those in
// testdata and those that come with the Gateway API, and for generated ones.
func TestCheck(t *testing.T) {
	t.Parallel()
	manifests := slices.Concat(read(t, "testdata"), ofGatewayAPI(t))
	o := newOracle(t, manifests)
	t.Run("corpus", func(t *testing.T) {
		for _, m := range manifests {
			if isRoute(m.object) && !strings.HasPrefix(m.place, "world.yaml") {
				o.compare(t, m.place, m.text, m.sent)
			}
		}
		if o.admitted < 200 || o.refused["the API server"] < 40 || o.refused["gammaguard"] < 20 {
			t.Errorf("%d routes were admitted and refused %v", o.admitted, o.refused)
		}
		for _, d := range differences {
			if len(o.different[d.name]) == 0 {
				t.Errorf("no route of the corpus shows the difference %s", d.name)
			}
		}
		o.budget(t, len(o.different["duplicate-key"])+len(o.different["list"]))
	})
	t.Run("generated", func(t *testing.T) { compareGenerated(t, o) })
}

// oracle asks both sides.
type oracle struct {
	api     *server
	options check.Options

	admitted int
	refused  map[string]int
	// different are the routes on which the sides differ, by what explains it.
	different map[string][]string
	// disagreements counts those that are not refused alike.
	disagreements int
}

// newOracle starts gammaguard in a cluster that has what the manifests have besides
// routes, and the routes of world.yaml. The same is what the offline side takes for
// everything that there is.
func newOracle(t *testing.T, manifests []manifest) *oracle {
	t.Helper()
	list := worldOf(manifests)
	text, err := list.MarshalJSON()
	if err != nil {
		t.Fatal(err)
	}
	world := filepath.Join(t.TempDir(), "world.json")
	if err := os.WriteFile(world, text, 0o600); err != nil {
		t.Fatal(err)
	}
	plane := standard.plane
	if err := guard.Install(t.Context(), plane, exempt); err != nil {
		t.Fatal(err)
	}
	if _, stderr, err := plane.Kubectl(t.Context(), "", "apply", "--server-side", "-f", world); err != nil {
		t.Fatal(err, stderr)
	}
	g, err := guard.Start(t.Context(), plane, guard.Options{Config: guardConfig, Exempt: exempt})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := g.Stop(); err != nil {
			t.Error(err)
		}
	})
	configuration, err := config.Load([]byte(guardConfig))
	if err != nil {
		t.Fatal(err)
	}
	return &oracle{
		api: serverAs(t, plane.Config),
		options: check.Options{
			Files: []string{source.Stdin}, Base: []string{world}, Complete: true, DryRun: true, Config: configuration,
		},
		refused: map[string]int{}, different: map[string][]string{},
	}
}

// worldOf returns what the manifests have besides routes, each object once, the routes of
// world.yaml, and the namespaces of all.
func worldOf(manifests []manifest) *unstructured.UnstructuredList {
	var namespaces, others []unstructured.Unstructured
	seen := map[string]bool{"Namespace /default": true}
	add := func(object *unstructured.Unstructured) bool {
		key := object.GetKind() + " " + object.GetNamespace() + "/" + object.GetName()
		again := seen[key]
		seen[key] = true
		return !again
	}
	for _, m := range manifests {
		object := m.object.DeepCopy()
		switch kind := object.GetKind(); {
		case kind == "Namespace" && add(object):
			namespaces = append(namespaces, *object)
		case isRoute(object) && !strings.HasPrefix(m.place, "world.yaml"), filepath.Base(m.folder) == invalidExamples:
		case slices.Contains([]string{"Service", "ServiceImport", "EndpointSlice", "ReferenceGrant"}, kind) || isRoute(object):
			if object.GetNamespace() == "" {
				object.SetNamespace("default")
			}
			if add(object) {
				others = append(others, *object)
			}
		}
	}
	for _, m := range manifests {
		namespace := new(unstructured.Unstructured)
		namespace.SetAPIVersion("v1")
		namespace.SetKind("Namespace")
		namespace.SetName(m.object.GetNamespace())
		if m.object.GetNamespace() != "" && add(namespace) {
			namespaces = append(namespaces, *namespace)
		}
	}
	list := &unstructured.UnstructuredList{Items: append(namespaces, others...)}
	list.SetAPIVersion("v1")
	list.SetKind("List")
	return list
}

// verdict is what the user reads of a route.
type verdict struct {
	// By is who refuses it; empty if it is admitted.
	By string
	// Refusals read "field: message".
	Refusals []string
	// Warnings are the rules and mutations that warn.
	Warnings []string
}

// compare asks both sides, and reports a difference that none of the known ones explains.
func (o *oracle) compare(t *testing.T, what string, text, sent []byte) {
	t.Helper()
	found := o.check(t, text)
	got, want := o.offline(found), o.apply(t, sent)
	if want.By == "" {
		o.admitted++
	} else {
		o.refused[want.By]++
	}
	if len(want.Refusals) == 1 && len(got.Refusals) == 1 && strings.HasPrefix(want.Refusals[0], ": ") {
		_, message, _ := strings.Cut(got.Refusals[0], ": ") // the server names no field
		got.Refusals[0] = ": " + message
	}
	if want.By == "the API server" || got.By == "the API server" {
		want.Warnings, got.Warnings = nil, nil // not all webhooks had their turn
	}
	for _, v := range []*verdict{&got, &want} {
		for _, list := range []*[]string{&v.Refusals, &v.Warnings} {
			slices.Sort(*list)
			*list = slices.Compact(*list)
		}
	}
	diff := cmp.Diff(want, got)
	if diff == "" {
		return
	}
	if want.By != got.By || !slices.Equal(want.Refusals, got.Refusals) {
		o.disagreements++
	}
	for _, d := range differences {
		if d.explains(&want, &got) {
			o.different[d.name] = append(o.different[d.name], what)
			return
		}
	}
	t.Errorf("%s: (-API server with gammaguard +check)\n%s\n%.2000s", what, diff, text)
}

// apply is what the API server and gammaguard say.
func (o *oracle) apply(t *testing.T, object []byte) verdict {
	t.Helper()
	reply := o.api.send(t, http.MethodPost, object, dryRun)
	v := verdict{Warnings: ids(reply.warnings)}
	if reply.status < 300 {
		return v
	}
	refusal := reply.refusal(t)
	if refusal == nil {
		return verdict{By: "the API server", Refusals: []string{definitions.VersionNotServed}}
	}
	v.By, v.Refusals = "the API server", refusals(refusal)
	if strings.HasPrefix(refusal.Message, "admission webhook") {
		v.By = "gammaguard"
		v.Refusals = causes(refusal)
	}
	v.Refusals = slices.DeleteFunc(v.Refusals, func(text string) bool { return strings.Contains(text, "some validation rules were not checked") })
	return v
}

var id = regexp.MustCompile(`\(([a-z-]+)\)$`)

// ids are the rules and mutations that warn.
func ids(warnings []string) []string {
	var found []string
	for _, warning := range warnings {
		switch match := id.FindStringSubmatch(warning); {
		case match != nil:
			found = append(found, match[1])
		case strings.HasPrefix(warning, "metadata.annotations["):
			found = append(found, explain.IgnoreAnnotation)
		}
	}
	return found
}

// check is the report of the offline side.
func (o *oracle) check(t *testing.T, text []byte) *report.CheckReport {
	t.Helper()
	options := o.options
	options.Stdin = bytes.NewReader(text)
	found, err := check.Run(t.Context(), &options)
	if err != nil || len(found.Routes) > 1 || len(found.Routes)+len(found.Broken) == 0 {
		t.Fatalf("%v: %s", err, text)
	}
	return found
}

// offline is what the report says, as far as the user of a cluster gets to know it: what
// the API server refuses does not reach gammaguard's validation.
func (o *oracle) offline(found *report.CheckReport) verdict {
	var v verdict
	var byServer, byGuard []string
	for _, broken := range found.Broken {
		byServer = append(byServer, ": "+broken.Message)
	}
	for _, route := range found.Routes {
		for _, change := range route.Changes {
			v.Warnings = append(v.Warnings, change.Mutation)
		}
		for _, change := range route.Withheld {
			if change.Effect == validate.Warn {
				v.Warnings = append(v.Warnings, change.Mutation)
			}
		}
		for _, f := range route.Findings {
			switch {
			case f.Rule == definitions.VersionNotServed:
				return verdict{By: "the API server", Refusals: []string{f.Rule}}
			case f.Rule == definitions.Schema:
				byServer = append(byServer, f.Field+": "+f.Problem)
			case f.Effect == validate.Deny:
				byGuard = append(byGuard, f.Field+": "+f.Message)
			case f.Effect == validate.Warn:
				v.Warnings = append(v.Warnings, f.Rule)
			}
		}
	}
	switch {
	case len(byServer) > 0:
		v.By, v.Refusals = "the API server", byServer
	case len(byGuard) > 0:
		v.By, v.Refusals = "gammaguard", byGuard
		v.Warnings = slices.DeleteFunc(v.Warnings, func(id string) bool { // a denial leaves them out
			rule := catalog.Find(id)
			return rule != nil && rule.OfTraffic
		})
	}
	return v
}
