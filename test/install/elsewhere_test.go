package install

import (
	"go/ast"
	"go/parser"
	"go/token"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/gammaguard/gammaguard/test/bed"
)

// elsewhere are the commands that other tests run, by the test: how they begin.
var elsewhere = map[string][]string{
	"internal/cli/cluster.TestAuditConfiguration": {"gammaguard audit --installation "},
	"internal/cli/cluster.TestDormant":            {"kubectl patch httproutes.gateway.networking.k8s.io bill -n "},
	"cmd/gammaguard.TestPlugin":                   {"kubectl gammaguard check -f manifests/"},
	"internal/cli/command.TestCheckFix":           {"gammaguard check --fix"},
	"internal/cli/command.TestDiffFindsSets":      {"gammaguard diff --base-ref "},
	"internal/cli/command.TestGraph":              {"gammaguard graph -f examples/shop"},
	"internal/cli/command.TestReadmeTry": {
		"$ go run ./examples/try examples/shop/*.yaml", "$ go run ./cmd/gammaguard check -f examples/shop",
	},
	"internal/cli/command.TestTestingPage": {"$ gammaguard test"},
	"internal/cli/command.TestTrafficPage": {"$ gammaguard trace ", "$ gammaguard diff "},
	"internal/cli/command.TestVerifyPage":  {"gammaguard verify ", "kubectl get ciliumenvoyconfigs ", "kubectl exec -n faces "},
	"internal/cli/command.TestWatch":       {"gammaguard check --watch"},
	"test/apiserver.TestPreview":           {"$ kubectl apply --dry-run=server -f cart.yaml"},
	"test/e2e.TestOverlays": {
		"kubectl apply -k ", "kubectl delete -k ", "kubectl rollout status -n gammaguard-system deployment/gammaguard-webhook",
	},
	"test/e2e.TestUpgrade":          {"kubectl logs -n gammaguard-system -l app.kubernetes.io/name=gammaguard --prefix --tail=50"},
	"test/install.TestAdoption":     {"gammaguard audit -A", "gammaguard audit -n shop --as-mode enforce", "kubectl label namespace shop ", "kubectl label namespaces --all gammaguard.dev/mode-", "jq -r "},
	"test/install.TestChangeSource": {"kubectl delete certificates,issuers ", "kubectl delete clusterroles,clusterrolebindings ", "kubectl delete validatingadmissionpolicies,validatingadmissionpolicybindings "},
	"test/install.TestHelm":         {"helm ", "kubectl label namespace gammaguard-system ", "kubectl delete -n gammaguard-system --ignore-not-found lease/"},
	"test/install.TestInstalled":    {"gammaguard preflight --installed", "kubectl create clusterrolebinding gammaguard-serving "},
	"test/install.TestRunbook":      {"$ kubectl apply -f cart.yaml"},
	"test/install.TestSelfManaged":  {"kubectl patch secret -n gammaguard-system "},
	"test/install.TestUninstall":    {"kubectl scale -n gammaguard-system ", "gammaguard status clear -A --confirm", "gammaguard policy | kubectl delete ", "kubectl label namespaces --all gammaguard.dev/grant-", "kubectl annotate namespaces --all "},
	"test/policies.TestStatic":      {"gammaguard policy --static > "},
	"test/labels.TestDocs":          {"kubectl get rolebindings -A ", "kubectl label namespace shop gammaguard.dev/grant=producer --overwrite --dry-run=server --as shop-admin"},
	"test/status.TestReports":       {"kubectl delete reports.openreports.io "},
}

// isElsewhere reports whether another test runs the command.
func isElsewhere(command string) bool {
	for _, beginnings := range elsewhere {
		if slices.ContainsFunc(beginnings, func(beginning string) bool { return strings.HasPrefix(command, beginning) }) {
			return true
		}
	}
	return false
}

// TestElsewhere: the other tests exist, and in the strings of each, and of the functions
// that it calls in its package, is the command, or a page that has it.
func TestElsewhere(t *testing.T) {
	root, err := bed.Root()
	if err != nil {
		t.Fatal(err)
	}
	commands := documented(t, root)
	for test, beginnings := range elsewhere {
		folder, function, _ := strings.Cut(test, ".")
		texts := stringsOf(t, filepath.Join(root, folder), function)
		if texts == "" {
			t.Errorf("%s has no %s", folder, function)
		}
		for _, beginning := range beginnings {
			onPage, found := false, false
			for _, c := range commands {
				if strings.HasPrefix(c.text, beginning) {
					onPage, found = true, found || strings.Contains(texts, filepath.Base(c.page))
				}
			}
			said := true
			for _, word := range strings.Fields(strings.TrimPrefix(strings.TrimPrefix(beginning, "$ "), "gammaguard ")) {
				said = said && strings.Contains(texts, word)
			}
			if !onPage {
				t.Errorf("no page has: %s", beginning)
			}
			if !found && !said {
				t.Errorf("%s neither has the words of %q nor names a page that has it", test, beginning)
			}
		}
	}
}

// stringsOf returns the strings in a function of a package, its tests included, and in all
// that it uses of the package.
func stringsOf(t *testing.T, folder, function string) string {
	t.Helper()
	files, err := filepath.Glob(filepath.Join(folder, "*.go"))
	if err != nil {
		t.Fatal(err)
	}
	declared := map[string][]ast.Node{}
	for _, file := range files {
		parsed, err := parser.ParseFile(token.NewFileSet(), file, nil, parser.SkipObjectResolution)
		if err != nil {
			t.Fatal(err)
		}
		for _, declaration := range parsed.Decls {
			switch declaration := declaration.(type) {
			case *ast.FuncDecl:
				declared[declaration.Name.Name] = append(declared[declaration.Name.Name], declaration)
			case *ast.GenDecl:
				for _, spec := range declaration.Specs {
					if value, is := spec.(*ast.ValueSpec); is {
						for _, name := range value.Names {
							declared[name.Name] = append(declared[name.Name], value)
						}
					}
				}
			}
		}
	}
	var texts []string
	seen := map[string]bool{function: true}
	for next := []string{function}; len(next) > 0; next = next[1:] {
		for _, node := range declared[next[0]] {
			ast.Inspect(node, func(node ast.Node) bool {
				switch node := node.(type) {
				case *ast.BasicLit:
					if text, err := strconv.Unquote(node.Value); err == nil {
						texts = append(texts, text)
					}
				case *ast.Ident:
					if !seen[node.Name] {
						seen[node.Name] = true
						next = append(next, node.Name)
					}
				}
				return true
			})
		}
	}
	return strings.Join(texts, "\n")
}
