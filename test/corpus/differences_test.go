package corpus

import (
	"encoding/json"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/gammaguard/gammaguard/test/bed"
)

// difference is one between `gammaguard check` and a cluster that is meant to be, or
// that cannot be helped. docs/check-limits.md lists them.
type difference struct {
	name, reason string
	explains     func(server, offline *verdict) bool
}

var differences = []difference{
	{
		"duplicate-key", "`kubectl` takes the last one of duplicate YAML keys, and the API server never sees the others. `gammaguard check` reports them.",
		func(server, offline *verdict) bool {
			return server.By == "" && len(offline.Refusals) == 1 && strings.HasPrefix(offline.Refusals[0], ": broken YAML: duplicate key")
		},
	},
	{
		"list", "The API server names each field of a list that is written without dashes. `gammaguard check` says once that a list is meant.",
		func(server, offline *verdict) bool {
			list, is := strings.CutSuffix(strings.Join(offline.Refusals, ", "), ": must be a list; begin each entry with -")
			return is && server.By == offline.By && !slices.ContainsFunc(server.Refusals, func(refusal string) bool {
				return !strings.HasPrefix(refusal, list+".") || !strings.Contains(refusal, ": unknown field ")
			})
		},
	},
	{
		"backend-no-endpoints", "Kubernetes makes the EndpointSlices of a Service with a selector. If they are not in the input, `gammaguard check` does not warn.",
		warnsToo("backend-no-endpoints"),
	},
	{
		"parent-not-found", "`gammaguard check` does not know which kinds of other implementations a cluster serves, so it does not warn that a parent is of none.",
		warnsToo("parent-not-found", "backend-no-endpoints"),
	},
}

// warnsToo explains that only the API server has warnings of some of the rules.
func warnsToo(rules ...string) func(server, offline *verdict) bool {
	return func(server, offline *verdict) bool {
		others := slices.DeleteFunc(slices.Clone(server.Warnings), func(rule string) bool {
			return slices.Contains(rules, rule) && !slices.Contains(offline.Warnings, rule)
		})
		return server.By == offline.By && slices.Equal(server.Refusals, offline.Refusals) && slices.Equal(others, offline.Warnings)
	}
}

// TestDifferences compares the table in docs/check-limits.md with the differences.
func TestDifferences(t *testing.T) {
	root, err := bed.Root()
	if err != nil {
		t.Fatal(err)
	}
	page, err := os.ReadFile(filepath.Join(root, "docs", "check-limits.md"))
	if err != nil {
		t.Fatal(err)
	}
	_, section, _ := strings.Cut(string(page), "\n## Differences from a cluster\n")
	section, _, _ = strings.Cut(section, "\n## ")
	var got, want [][]string
	for _, row := range regexp.MustCompile("(?m)^\\| `(.*?)` \\| (.*) \\|$").FindAllStringSubmatch(section, -1) {
		got = append(got, row[1:])
	}
	for _, d := range differences {
		want = append(want, []string{d.name, d.reason})
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("differences in docs/check-limits.md (-want +got):\n%s", diff)
	}
}

// TestDuplicateKey sees the real kubectl take the last one of duplicate keys.
func TestDuplicateKey(t *testing.T) {
	const route = `
apiVersion: gateway.networking.k8s.io/v1
kind: HTTPRoute
metadata: {name: written-twice, namespace: default}
spec:
  hostnames: [a.example.com]
  hostnames: [b.example.com]
`
	stored, stderr, err := standard.plane.Kubectl(t.Context(), route, "apply", "--dry-run=server", "--as", exempt, "--as-group", "system:masters",
		"-f", "-", "-o", "jsonpath={.spec.hostnames[*]}")
	if err != nil || stored != "b.example.com" {
		t.Errorf("%q %v %s", stored, err, stderr)
	}
}

// budget reports an error if more routes than so many are not refused alike, and logs
// which make a difference. It counts anew from here.
func (o *oracle) budget(t *testing.T, most int) {
	t.Helper()
	text, err := json.MarshalIndent(o.different, "", "  ")
	if err != nil {
		t.Fatal(err)
	}
	t.Logf("%d admitted, refused: %v, different: %s", o.admitted, o.refused, text)
	if o.disagreements > most {
		t.Errorf("%d routes are not refused alike, want at most %d", o.disagreements, most)
	}
	o.admitted, o.disagreements, o.refused, o.different = 0, 0, map[string]int{}, map[string][]string{}
}
