package meshes

import (
	"cmp"
	"fmt"
	"go/format"
	"maps"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"

	gocmp "github.com/google/go-cmp/cmp"
	"sigs.k8s.io/yaml"

	"github.com/gammaguard/gammaguard/mesh"
)

const reportedPath = "../../mesh/reported.go"

// TestReported compares mesh/reported.go with the conformance reports in the module of the
// Gateway API's conformance tests. With -update it writes it.
func TestReported(t *testing.T) {
	want := reported(t)
	if *updatePage {
		if err := os.WriteFile(reportedPath, want, 0o600); err != nil {
			t.Fatal(err)
		}
		return
	}
	got, err := os.ReadFile(reportedPath)
	if err != nil {
		t.Fatal(err)
	}
	if diff := gocmp.Diff(string(want), string(got)); diff != "" {
		t.Errorf("mesh/reported.go is stale, run make docs (-want +got):\n%s", diff)
	}
}

// features are the features of conformance reports that stand for a field. All must be supported.
// Of two names of one feature, that for meshes counts, where a report has it: reports for a
// Gateway and a mesh of one project may claim the other for the Gateway alone.
var features = map[mesh.Field][][]string{
	mesh.RequestTimeout:        {{"HTTPRouteRequestTimeout"}},
	mesh.BackendRequestTimeout: {{"HTTPRouteBackendTimeout"}},
	mesh.Retry:                 {{"HTTPRouteRetry"}},
	mesh.RuleFilter(mesh.ResponseHeaderModifierFilter): {{"HTTPRouteResponseHeaderModification"}},
	mesh.RuleFilter(mesh.RequestMirrorFilter):          {{"HTTPRouteRequestMirror"}},
	mesh.RuleFilter(mesh.RequestRedirectFilter): {
		{"MeshHTTPRouteRedirectPath", "HTTPRoutePathRedirect"},
		{"MeshHTTPRouteRedirectPort", "HTTPRoutePortRedirect"},
		{"MeshHTTPRouteSchemeRedirect", "HTTPRouteSchemeRedirect"},
	},
	mesh.RuleFilter(mesh.URLRewriteFilter):               {{"MeshHTTPRouteRewritePath", "HTTPRoutePathRewrite"}},
	mesh.RuleFilter(mesh.CORSFilter):                     {{"HTTPRouteCORS"}},
	mesh.BackendFilter(mesh.RequestHeaderModifierFilter): {{"MeshHTTPRouteBackendRequestHeaderModification", "HTTPRouteBackendRequestHeaderModification"}},
}

// reportsOf are the folders of the meshes' reports.
var reportsOf = map[mesh.ProfileName][]string{
	mesh.Cilium: {"cilium", "cilium-cilium"}, mesh.Istio: {"istio-istio"}, mesh.Kuma: {"kuma", "kumahq-kuma"}, mesh.Linkerd: {"linkerd-linkerd"},
}

// conformanceReport is what is read of a ConformanceReport.
type conformanceReport struct {
	Implementation struct{ Version string }
	Profiles       []conformanceProfile
}

type conformanceProfile struct {
	Name     string
	Extended struct{ SupportedFeatures, UnsupportedFeatures []string }
}

// minor is the release of a report, without what follows the second number.
var minor = regexp.MustCompile(`(\d+)\.(\d+)`)

// claims are the features that the mesh says it supports, or does not, by release.
func claims(t *testing.T, root string, folders []string) map[[2]int]map[string]bool {
	t.Helper()
	all := map[[2]int]map[string]bool{}
	for _, folder := range folders {
		files, err := filepath.Glob(filepath.Join(root, "reports", "*", folder, "*-report.yaml"))
		if err != nil {
			t.Fatal(err)
		}
		for _, file := range files {
			text, err := os.ReadFile(file)
			if err != nil {
				t.Fatal(err)
			}
			var report conformanceReport
			if err := yaml.Unmarshal(text, &report); err != nil {
				t.Fatalf("%s: %v", file, err)
			}
			numbers := minor.FindStringSubmatch(report.Implementation.Version)
			i := slices.IndexFunc(report.Profiles, func(p conformanceProfile) bool { return p.Name == "MESH-HTTP" })
			if numbers == nil || i < 0 {
				continue
			}
			major, _ := strconv.Atoi(numbers[1])
			second, _ := strconv.Atoi(numbers[2])
			release := [2]int{major, second}
			if all[release] == nil {
				all[release] = map[string]bool{}
			}
			for _, feature := range report.Profiles[i].Extended.UnsupportedFeatures {
				all[release][feature] = false
			}
			for _, feature := range report.Profiles[i].Extended.SupportedFeatures {
				all[release][feature] = true
			}
		}
	}
	return all
}

// conformanceModule returns the folder of the module of the conformance tests, in the version of
// the Gateway API that gammaguard requires: both are released together.
func conformanceModule(t *testing.T) (dir, version string) {
	t.Helper()
	run := func(args ...string) []byte {
		out, err := exec.CommandContext(t.Context(), "go", args...).Output()
		if err != nil {
			t.Fatalf("go %s: %v\n%s", strings.Join(args, " "), err, out)
		}
		return out
	}
	version = strings.TrimSpace(string(run("list", "-m", "-f", "{{.Version}}", "sigs.k8s.io/gateway-api")))
	var module struct{ Dir string }
	if err := yaml.Unmarshal(run("mod", "download", "-json", "sigs.k8s.io/gateway-api/conformance@"+version), &module); err != nil {
		t.Fatal(err)
	}
	return module.Dir, version
}

// reported returns the text of mesh/reported.go.
func reported(t *testing.T) []byte {
	t.Helper()
	root, version := conformanceModule(t)
	var b strings.Builder
	fmt.Fprintf(&b, "// Code generated by test/meshes from the conformance reports of the Gateway API %s. DO NOT EDIT.\n\npackage mesh\n\n"+
		"// reported is what conformance reports say of fields. A feature that the newest report of a mesh\n"+
		"// does not list as supported is not known: its silence is no evidence.\n"+
		"var reported = map[ProfileName][]FieldFact{\n", version)
	seen := 0
	for _, name := range mesh.ProfileNames() {
		claimed := claims(t, root, reportsOf[name])
		releases := slices.SortedFunc(maps.Keys(claimed), func(a, b [2]int) int { return slices.Compare(a[:], b[:]) })
		if len(releases) == 0 {
			continue
		}
		seen++
		fmt.Fprintf(&b, "\t%q: {\n", name)
		for _, field := range slices.Sorted(maps.Keys(features)) {
			writeReported(&b, field, releases, claimed)
		}
		b.WriteString("\t},\n")
	}
	b.WriteString("}\n")
	if seen < 3 {
		t.Fatalf("reports of %d meshes only in %s", seen, root)
	}
	text, err := format.Source([]byte(b.String()))
	if err != nil {
		t.Fatal(err)
	}
	return text
}

// writeReported writes the fact about a field: the release since which every report that says
// anything of its features has them all as supported.
func writeReported(b *strings.Builder, field mesh.Field, releases [][2]int, claimed map[[2]int]map[string]bool) {
	var said [][2]int
	lacks := map[[2]int]string{}
	for _, release := range releases {
		mentioned := false
		for _, names := range features[field] {
			i := slices.IndexFunc(names, func(name string) bool { _, has := claimed[release][name]; return has })
			mentioned = mentioned || i >= 0
			if i < 0 || !claimed[release][names[i]] {
				lacks[release] = names[max(i, 0)]
			}
		}
		if mentioned {
			said = append(said, release)
		}
	}
	name := func(release [2]int) string { return fmt.Sprintf("%d.%d", release[0], release[1]) }
	write := func(what mesh.Treatment, evidence, bound, source string) {
		fmt.Fprintf(b, "{Field: %q, Kinds: []RouteKind{HTTPRoute}, Fact: fact[Treatment](%q, %q)%s, Evidence: %s},\n", field, what, source, bound, evidence)
	}
	if len(said) == 0 {
		write(mesh.UnknownTreatment, "Silence", "", "no conformance report says anything of "+features[field][0][0])
		return
	}
	newest, oldest := said[len(said)-1], said[0]
	if lacks[newest] != "" {
		write(mesh.UnknownTreatment, "Silence", "", "the conformance report of "+name(newest)+" does not have "+lacks[newest]+" as supported")
		return
	}
	since := newest
	for _, release := range slices.Backward(said) {
		if lacks[release] != "" {
			break
		}
		since = release
	}
	bound := ""
	if since != oldest { // an older one does not have it
		bound = fmt.Sprintf(".since(%q)", name(since))
	}
	write(mesh.Honored, "Reported", bound, "conformance reports of "+cmp.Or(span(name(since), name(newest)), name(newest)))
}

// span reads "1.22 to 1.28", or is empty for one release.
func span(since, newest string) string {
	if since == newest {
		return ""
	}
	return since + " to " + newest
}
