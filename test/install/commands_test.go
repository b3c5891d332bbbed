package install

import (
	"context"
	"maps"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
)

// played are the commands of the pages that this test runs, with their exit codes, and
// what they print.
var played = map[string]struct {
	code int
	text string
}{
	"gammaguard audit -A --config guard.yaml":  {1, `(?m)^shop +HTTPRoute +runbook +parent-headless +deny `},
	"gammaguard audit -n shop":                 {1, `(?m)^shop +HTTPRoute +runbook +parent-headless +deny `},
	"gammaguard audit -n shop --wait 10s":      {1, `(?m)^shop +enforce .* 0/\d+ +none `},
	"gammaguard audit -n shop -o wide":         {1, `(?m)^shop +HTTPRoute +cart +spec.parentRefs\[0\] +Service shop/cart +unanswered +- +-$`},
	"gammaguard check charts/lab -n lab":       {0, `(?m)^1 route in 1 file: `},
	"gammaguard check charts/shop -n shop":     {0, `(?m)^1 route in 1 file: `},
	"gammaguard check -f manifests/ --cluster": {1, `(?m)HTTPRoute shop/group .*\(parent-port-not-found\)$`},
	"gammaguard check -f manifests/ --fix":     {1, `fixed`},
	"gammaguard check -f manifests/ -o json | jq -r '.routes[] | select(.verdict == \"deny\") | \"\\(.file):\\(.line) \\(.kind) \\(.namespace)/\\(.name)\"'": {0, `^manifests/cart.yaml:5 HTTPRoute shop/group$`},
	"gammaguard check -o text -o sarif=gammaguard.sarif -o junit=gammaguard.xml":                                                                             {1, `5 denials`},
	"gammaguard conflicts -A":                    {0, `(?m)^NAMESPACE `},
	"gammaguard conflicts -n shop":               {0, `(?m)^SERVICE `},
	"gammaguard describe httproute/cart -n shop": {0, `(?m)^Kind: +HTTPRoute`},
	"gammaguard describe service/cart -n shop":   {0, `HTTPRoute shop/cart`},
	"gammaguard detect-mesh":                     {1, ``},
	"gammaguard explain parent-headless":         {0, `^parent-headless`},
	"gammaguard grants -A":                       {0, `(?m)^shop +none `},
	"gammaguard grants -n shop -o wide":          {0, `HTTPRoute cart`},
	"gammaguard grants list -A --requested":      {0, `canary of the cart +kubectl label namespace shop gammaguard.dev/grant=producer`},
	"gammaguard grants request -n shop --role producer --reason \"canary of the cart\"":                                       {0, ``},
	"gammaguard graph -A -o dot > graph.dot":                                                                                  {0, `^$`},
	"gammaguard graph -f examples/shop -o html > graph.html":                                                                  {0, `^$`},
	"gammaguard graph -n shop -o html > graph.html":                                                                           {0, `^$`},
	"gammaguard graph service/cart -n shop":                                                                                   {0, `^flowchart LR\n(.*\n)*.*HTTPRoute cart`},
	"gammaguard policy":                                                                                                       {0, `(?m)^  name: gammaguard-route-grants$`},
	"gammaguard policy --config guard.yaml":                                                                                   {0, `(?m)^  name: gammaguard-route-grants$`},
	"gammaguard policy --config guard.yaml > route_grants.yaml":                                                               {0, `^$`},
	"gammaguard policy --config guard.yaml | diff route_grants.yaml -":                                                        {0, `^$`},
	"gammaguard preflight --overlay audit-only":                                                                               {0, `(?m)^cert-manager +ok `},
	"gammaguard preflight --overlay default --image registry.example.com/gammaguard-webhook:v1.2.3":                           {0, `(?m)^image +unknown +registry.example.com/gammaguard-webhook:v1.2.3: `},
	"gammaguard test -o text -o junit=gammaguard.xml":                                                                         {0, `(?m)^1 test in 1 file: 1 passed$`},
	"gammaguard trace service/cart:80 -n shop --path /items":                                                                  {0, `HTTPRoute shop/cart`},
	"kubectl annotate namespace shop gammaguard.dev/grant-route-kinds=HTTPRoute,GRPCRoute":                                    {0, `annotated`},
	"kubectl annotate service -n shop cart gammaguard.dev/consumer-routes-from='kubernetes.io/metadata.name in (faces, lab)'": {0, `annotated`},
	"kubectl apply -f route_grants.yaml":                                                                                      {0, `(?m)/gammaguard-route-grants created$`},
	"kubectl auth can-i create serviceprofiles.linkerd.io --as dev -n shop":                                                   {1, `(?m)^no$`},
	"kubectl create clusterrolebinding mesh-admins --clusterrole=gammaguard-mesh-admin --group=mesh-admins":                   {0, `created`},
	"kubectl create clusterrolebinding mesh-viewers --clusterrole=gammaguard-viewer --group=mesh-viewers":                     {0, `created`},
	"kubectl create configmap -n gammaguard-system gammaguard-client-ca --from-file=ca.crt":                                   {0, `created`},
	"kubectl create rolebinding mesh-viewers -n gammaguard-system --role=gammaguard-viewer --group=mesh-viewers":              {0, `created`},
	"kubectl describe pods -n gammaguard-system":                                                                              {0, `^$`},
	"kubectl get endpointslices -n default -l kubernetes.io/service-name=kubernetes":                                          {0, `(?m)^kubernetes +IPv4 +\d+ `},
	"kubectl get pods -n gammaguard-system":                                                                                   {0, `^$`},
	"kubectl label namespace monitoring gammaguard.dev/scrape=allow":                                                          {0, `labeled`},
}

// TestCommands runs the commands of the pages, word for word, as a user does who stands in
// a checkout and has manifests of its own. It knows which test runs the others: TestRunbook
// has those of the runbook, and test/boundary holds make and go test to what there is.
func TestCommands(t *testing.T) {
	o := newOperator(t)
	o.root = checkout(t, o.root)
	o.apply(t, "{apiVersion: v1, kind: Namespace, metadata: {name: monitoring}}",
		"{apiVersion: v1, kind: Namespace, metadata: {name: shop}}", headlessIn("shop"),
		"{apiVersion: v1, kind: Service, metadata: {name: cart, namespace: shop}, spec: {ports: [{port: 80}]}}",
		(&legacyRoute{kind: "HTTPRoute", name: "cart", parents: `{group: "", kind: Service, name: cart}`, rules: `{backendRefs: [{name: cart, port: 80}]}`}).manifest("shop"))
	kubectl(t, "label", "namespace", "shop", "gammaguard.dev/grant-", "gammaguard.dev/mode-")
	kubectl(t, "annotate", "namespace", "shop", "gammaguard.dev/grant-request-")
	install(t, folder(t, "default"))
	t.Cleanup(func() {
		if _, stderr, err := plane.Kubectl(context.WithoutCancel(t.Context()), "", "delete", "clusterrolebinding", "mesh-admins", "mesh-viewers"); err != nil {
			t.Error(stderr)
		}
		removeGrantPolicies(t)
		if _, stderr, err := plane.Kubectl(context.WithoutCancel(t.Context()), "", "annotate", "namespace", "shop", "gammaguard.dev/grant-route-kinds-"); err != nil {
			t.Error(stderr)
		}
		if _, stderr, err := plane.Kubectl(context.WithoutCancel(t.Context()), "", "delete", "service,httproute", "-n", "shop", "cart"); err != nil {
			t.Error(stderr)
		}
	})
	unseen := maps.Clone(played)
	for _, c := range documented(t, o.root) {
		command := c.text
		if slices.Contains(runbooks, strings.TrimPrefix(c.page, "docs/")) {
			continue
		}
		if _, found := played[command]; !found && !isElsewhere(command) {
			t.Errorf("%s: no test runs: %s", c.page, command)
		}
		want, first := unseen[command]
		delete(unseen, command)
		switch piped, query, isQuery := strings.Cut(command, " | jq -r "); {
		case !first:
		case isQuery:
			_, stdout, _ := o.sh(t, piped)
			if got := strings.Join(runQuery(t, strings.Trim(query, "'"), strings.NewReader(stdout)), "\n"); !regexp.MustCompile(want.text).MatchString(got) {
				t.Errorf("%s: want %q, got %s", command, want.text, got)
			}
		default:
			o.wants(t, command, want.code, want.text)
		}
	}
	for command := range unseen {
		t.Errorf("no page has: %s", command)
	}
}

// removeGrantPolicies removes what 'gammaguard policy' writes.
func removeGrantPolicies(t *testing.T) {
	t.Helper()
	if _, stderr, err := plane.Kubectl(context.WithoutCancel(t.Context()), "", "delete", "--ignore-not-found", "-f", filepath.Join("..", "..", "config", "policy", "route_grants.yaml")); err != nil {
		t.Error(stderr)
	}
}

// checkout makes a folder with what the pages take from a checkout, and with a user's own files.
func checkout(t *testing.T, root string) string {
	t.Helper()
	dir := t.TempDir()
	// What is read as a repository does not leave it by links.
	if err := os.CopyFS(filepath.Join(dir, "examples"), os.DirFS(filepath.Join(root, "examples"))); err != nil {
		t.Fatal(err)
	}
	for _, name := range []string{"config", "docs", "README.md"} {
		if err := os.Symlink(filepath.Join(root, name), filepath.Join(dir, name)); err != nil {
			t.Fatal(err)
		}
	}
	const release = `{apiVersion: v1, kind: Service, metadata: {name: web}, spec: {ports: [{port: 80}]}}
---
{apiVersion: gateway.networking.k8s.io/v1, kind: HTTPRoute, metadata: {name: web}, spec: {parentRefs: [{group: "", kind: Service, name: web}], rules: [{backendRefs: [{name: web, port: 80}]}]}}
`
	for name, text := range map[string]string{
		"charts/lab/Chart.yaml": "{apiVersion: v2, name: lab, version: 1.0.0}", "charts/lab/templates/web.yaml": release,
		"charts/shop/Chart.yaml": "{apiVersion: v2, name: shop, version: 1.0.0}", "charts/shop/templates/web.yaml": release,
		"ca.crt": "a certificate", "guard.yaml": "apiVersion: gammaguard.dev/v1alpha1\nkind: GuardConfiguration\n",
		"tests/gammaguard-test.yaml": "apiVersion: gammaguard.dev/v1alpha1\nkind: TrafficTest\ninput: {files: [../manifests]}\n" +
			"tests: [{name: cart, request: {service: shop/cart, port: 80}, expect: {backend: cart:80}}]\n",
		"manifests/cart.yaml": `{apiVersion: v1, kind: Namespace, metadata: {name: shop, labels: {gammaguard.dev/grant: producer}}}
---
{apiVersion: v1, kind: Service, metadata: {name: cart, namespace: shop}, spec: {ports: [{port: 80}]}}
---
` + (&legacyRoute{kind: "HTTPRoute", name: "group", parents: `{kind: Service, name: cart, port: 81}`}).manifest("shop"),
	} {
		if err := os.MkdirAll(filepath.Dir(filepath.Join(dir, name)), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(filepath.Join(dir, name), []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	return dir
}

var (
	commandLine = regexp.MustCompile(`^(?:\$ )?(?:gammaguard|kubectl|helm|jq|git|go run \./(?:cmd|examples)/\w+) `)
	// inText is a command with options in a sentence.
	inText = regexp.MustCompile("`((?:gammaguard|kubectl|go run \\./cmd/gammaguard) [^`]*-[^`]*)`")
)

// pageCommand is a command of a page.
type pageCommand struct{ page, text string }

// documented returns the commands of all pages, with gammaguard in the place of go run.
func documented(t *testing.T, root string) (commands []pageCommand) {
	t.Helper()
	pages, err := filepath.Glob(filepath.Join(root, "docs", "*.md"))
	if err != nil {
		t.Fatal(err)
	}
	for _, page := range append(pages, filepath.Join(root, "README.md")) {
		text, err := os.ReadFile(page)
		if err != nil {
			t.Fatal(err)
		}
		name, err := filepath.Rel(root, page)
		if err != nil {
			t.Fatal(err)
		}
		for i, part := range strings.Split(string(text), "```") {
			var found []string
			if i%2 == 0 {
				for _, match := range inText.FindAllStringSubmatch(part, -1) {
					found = append(found, match[1])
				}
			} else {
				for line := range strings.Lines(part) {
					if line = strings.TrimSpace(line); commandLine.MatchString(line) {
						found = append(found, line)
					}
				}
			}
			for _, line := range found {
				if rest, is := strings.CutPrefix(line, "go run ./cmd/gammaguard "); is {
					line = "gammaguard " + rest
				}
				commands = append(commands, pageCommand{filepath.ToSlash(name), line})
			}
		}
	}
	return commands
}
