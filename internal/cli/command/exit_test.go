package command

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

// TestCheckExitCodes holds what fails a check.
func TestCheckExitCodes(t *testing.T) {
	const clean = `{apiVersion: v1, kind: Namespace, metadata: {name: shop, labels: {gammaguard.dev/grant: all}}}
---
{apiVersion: v1, kind: Service, metadata: {name: cart, namespace: shop}, spec: {type: NodePort, ports: [{port: 80}]}}
---
{apiVersion: gateway.networking.k8s.io/v1, kind: HTTPRoute, metadata: {name: cart, namespace: shop}, spec: {parentRefs: [{PARENT}], rules: [{backendRefs: [{name: cart, port: 80}]}]}}
`
	audited := strings.Replace(clean, "{PARENT}", `{group: "", kind: Service, name: cart}`, 1)
	mutated := strings.Replace(clean, "{PARENT}", `{kind: Service, name: cart}`, 1)
	denied := strings.Replace(clean, "{PARENT}", `{group: "", kind: Service, name: cart, port: 81}`, 1)
	for _, test := range []struct {
		name, stdin string
		args        []string
		want        int
	}{
		{"audit passes", audited, nil, ExitClean},
		{"audit fails if told so", audited, []string{"--fail-on", "audit"}, ExitFindings},
		{"audit is no warning", audited, []string{"--fail-on", "warn"}, ExitClean},
		{"a change passes", mutated, nil, ExitClean},
		{"a change warns", mutated, []string{"--fail-on", "warn"}, ExitFindings},
		{"a denial fails", denied, nil, ExitFindings},
		{"nothing fails", denied, []string{"--fail-on", "never"}, ExitClean},
		{"a broken document fails", "a: [", nil, ExitFindings},
		{"nothing to judge", "", nil, ExitClean},
	} {
		t.Run(test.name, func(t *testing.T) {
			if got := run(t, test.stdin, append([]string{"check", "-f", "-"}, test.args...)...); got.code != test.want {
				t.Errorf("want exit code %d, got %+v", test.want, got)
			}
		})
	}
}

// TestNothingRead: a check that could read nothing has no report, which would have no findings.
func TestNothingRead(t *testing.T) {
	for _, args := range [][]string{{"-f", "testdata/none"}, {"-f", "testdata/none", "-o", "github"}, {"-f", "testdata/none", "-o", "json"}, {"testdata/none"}} {
		got := run(t, "", append([]string{"check"}, args...)...)
		if got.code != ExitUsage || got.stdout != "" || got.stderr != "error: testdata/none: no such file or directory\n" {
			t.Errorf("%q: %+v", args, got)
		}
	}
	if got := run(t, "", "check", "-f", shop, "-f", "testdata/none"); got.code != ExitUsage || !strings.Contains(got.stdout, " in 4 files: ") {
		t.Errorf("with what can be read: %+v", got)
	}
}

// TestWrongUse: what is wrong, and the exit code 2.
func TestWrongUse(t *testing.T) {
	for _, test := range []struct {
		args []string
		want string
	}{
		{nil, "error: a command is required\n"},
		{[]string{"audit", "shop"}, "error: the command takes no arguments, such as \"shop\"; specify a namespace with -n\nSee 'gammaguard audit --help' for usage\n"},
		{[]string{"conflicts", "app"}, "error: the command takes no arguments, such as \"app\"; specify a namespace with -n, or files with -f\nSee 'gammaguard conflicts --help' for usage\n"},
		{[]string{"policy", "shop"}, "error: the command takes no arguments, such as \"shop\"\nSee 'gammaguard policy --help' for usage\n"},
		{[]string{"status", "clean"}, "error: unknown command \"clean\" for \"gammaguard status\"; did you mean clear?\nSee 'gammaguard status --help' for usage\n"},
		{[]string{"grants", "lists"}, "error: unknown command \"lists\" for \"gammaguard grants\"; did you mean list?\nSee 'gammaguard grants --help' for usage\n"},
		{[]string{"grants", "shop"}, "error: unknown command \"shop\" for \"gammaguard grants\"; to specify a namespace, use -n\nSee 'gammaguard grants --help' for usage\n"},
		{[]string{"policy", "-o", "json"}, "error: invalid argument \"json\" for \"-o, --output\" flag: must be yaml\nSee 'gammaguard policy --help' for usage\n"},
		{[]string{"preflight", "--wait", "1s"}, "error: --wait has no effect without --installed\nSee 'gammaguard preflight --help' for usage\n"},
		{[]string{"describe", "svc/a/b"}, "error: specify one service/NAME, serviceimport/NAME, or route, such as httproute/NAME, not \"svc/a/b\"\nSee 'gammaguard describe --help' for usage\n"},
		{[]string{"describe", "svc/a."}, "error: specify one service/NAME, serviceimport/NAME, or route, such as httproute/NAME, not \"svc/a.\"\nSee 'gammaguard describe --help' for usage\n"},
		{[]string{"describe", "svc/a.b.svc"}, "error: specify one service/NAME, serviceimport/NAME, or route, such as httproute/NAME, not \"svc/a.b.svc\"\nSee 'gammaguard describe --help' for usage\n"},
		{[]string{"chek"}, "error: unknown command \"chek\" for \"gammaguard\"; did you mean check?\n"},
		{[]string{"check", "-f", shop, "elsewhere"}, "error: PATH cannot be used with -f, -k, or --helm; for several files, repeat -f\nSee 'gammaguard check --help' for usage\n"},
		{[]string{"check", "--values", "x.yaml"}, "error: --values has no effect without --helm\nSee 'gammaguard check --help' for usage\n"},
		{[]string{"check", "--complte"}, "error: unknown flag: --complte\nSee 'gammaguard check --help' for usage\n"},
		{[]string{"check", "-f", "-", "-f", "-"}, "error: standard input can be read only once\nSee 'gammaguard check --help' for usage\n"},
		{[]string{"check", "-f", shop, "-o", "xml"}, "error: invalid argument \"xml\" for \"-o, --output\" flag: the format must be one of text, json, yaml, sarif, junit, github, gitlab\nSee 'gammaguard check --help' for usage\n"},
		{
			[]string{"check", "-f", shop, "-o", "text", "-o", "json"},
			"error: invalid argument \"json\" for \"-o, --output\" flag: only one format can be written to standard output; write the others to files, such as json=gammaguard.json\nSee 'gammaguard check --help' for usage\n",
		},
		{[]string{"check", "-f", shop, "-o", "json=a", "-o", "sarif=a"}, "error: invalid argument \"sarif=a\" for \"-o, --output\" flag: file a is specified twice\nSee 'gammaguard check --help' for usage\n"},
		{[]string{"check", "-f", shop, "-o", "json="}, "error: invalid argument \"json=\" for \"-o, --output\" flag: a file name must follow =\nSee 'gammaguard check --help' for usage\n"},
		{[]string{"check", "-f", shop, "-o", "json=testdata/none/a"}, "error: testdata/none/a: the directory testdata/none does not exist\n"},
		{[]string{"check", "-f", shop, "--fail-on", "off"}, "error: invalid argument \"off\" for \"--fail-on\" flag: must be one of never, deny, warn, audit\nSee 'gammaguard check --help' for usage\n"},
		{[]string{"check", "-f", shop, "--context", "x"}, "error: --context has no effect without --cluster\nSee 'gammaguard check --help' for usage\n"},
		{
			[]string{"check", "-f", shop, "--cluster", "--complete"},
			"error: --cluster and --complete cannot be used together\nSee 'gammaguard check --help' for usage\n",
		},
		{
			[]string{"check", "-f", "-", "--fix"},
			"error: --fix cannot be used with standard input; specify the source files with -f\nSee 'gammaguard check --help' for usage\n",
		},
		{[]string{"check", "-f", "testdata/none"}, "error: testdata/none: no such file or directory\n"},
		{[]string{"check", "-f", shop, "--config", "testdata/none"}, "error: configuration: testdata/none: no such file or directory\n"},
		{[]string{"explain", "parent-heedless"}, "error: unknown ID \"parent-heedless\": did you mean parent-headless? run 'gammaguard explain' to list all IDs\n"},
		{[]string{"trace", "-f", shop}, "error: specify one Service port, such as service/cart:80, cart.shop:http, or http://cart.shop/path\nSee 'gammaguard trace --help' for usage\n"},
		{[]string{"trace", "pod/cart:80", "-f", shop}, "error: \"pod/cart:80\": want a Service, as in service/cart:80, cart.shop:http, or http://cart.shop/path; if pod is the namespace, service/cart.pod:80\nSee 'gammaguard trace --help' for usage\n"},
		{[]string{"trace", "http://cart.shop/v2", "-f", shop, "--path", "/"}, "error: --path and --grpc cannot be used with a URL, which has a path\nSee 'gammaguard trace --help' for usage\n"},
		{[]string{"trace", "cart", "--complete"}, "error: --complete has no effect without files, and cannot be used with --cluster\nSee 'gammaguard trace --help' for usage\n"},
		{[]string{"graph", "-f", shop, "--cluster", "--complete"}, "error: --cluster and --complete cannot be used together\nSee 'gammaguard graph --help' for usage\n"},
		{[]string{"conflicts", "-f", shop, "--cluster", "--complete"}, "error: --cluster and --complete cannot be used together\nSee 'gammaguard conflicts --help' for usage\n"},
		{[]string{"diff", shop, "-f", shop}, "error: PATH cannot be used with -f, -k, or --helm; for several files, repeat -f\nSee 'gammaguard diff --help' for usage\n"},
		{[]string{"trace", "service/cart:80", "-f", shop, "-H", "x"}, "error: header \"x\": want NAME: VALUE\nSee 'gammaguard trace --help' for usage\n"},
		{[]string{"trace", "service/cart:80", "-f", shop, "--grpc", "a.B/Do", "--path", "/"}, "error: --grpc cannot be used with --method or --path\nSee 'gammaguard trace --help' for usage\n"},
		{[]string{"trace", "service/cart:80", "-f", shop, "--context", "x"}, "error: --context has no effect without --cluster\nSee 'gammaguard trace --help' for usage\n"},
		{[]string{"diff", "-f", shop}, "error: specify what to compare with: --base, --base-ref, or --cluster\nSee 'gammaguard diff --help' for usage\n"},
		{[]string{"diff", "-f", shop, "--base", shop, "--base-ref", "main"}, "error: only one of --base, --base-ref, and --cluster can be used\nSee 'gammaguard diff --help' for usage\n"},
		{[]string{"diff", "-f", "-", "--base-ref", "main"}, "error: --base-ref cannot be used with standard input\nSee 'gammaguard diff --help' for usage\n"},
		{[]string{"diff", "-f", "-", "--base", "-"}, "error: standard input can be read only once\nSee 'gammaguard diff --help' for usage\n"},
		{[]string{"describe"}, "error: specify one service/NAME, serviceimport/NAME, or route, such as httproute/NAME\nSee 'gammaguard describe --help' for usage\n"},
		{[]string{"describe", "service", "cart", "web"}, "error: specify one service/NAME, serviceimport/NAME, or route, such as httproute/NAME, not \"service cart web\"\nSee 'gammaguard describe --help' for usage\n"},
		{[]string{"conflicts", "-o", "xml"}, "error: invalid argument \"xml\" for \"-o, --output\" flag: must be one of wide, json, yaml\nSee 'gammaguard conflicts --help' for usage\n"},
	} {
		t.Run(strings.Join(test.args, " "), func(t *testing.T) {
			got := run(t, "", test.args...)
			if diff := cmp.Diff(test.want, got.stderr); diff != "" || got.code != ExitUsage {
				t.Errorf("exit code %d, stderr (-want +got)\n%s", got.code, diff)
			}
		})
	}
}

// TestCheckUnreadable: one unreadable path fails the check with 2, but what can be
// read is reported.
func TestCheckUnreadable(t *testing.T) {
	r, got := checkJSON(t, orphan, "-f", "testdata/none,-", "-n", "shop")
	if len(r.Routes) != 2 || got.code != ExitUsage || !strings.Contains(got.stderr, "testdata/none") {
		t.Errorf("%d routes, %+v", len(r.Routes), got)
	}
	if got := run(t, "", "check", "-f", "testdata/none"); got.code != ExitUsage || got.stdout != "" {
		t.Errorf("nothing could be read: %+v", got)
	}
	if got := run(t, "", "check", "-k", "testdata/shop"); got.code != ExitUsage || !strings.Contains(got.stderr, "kustomization testdata/shop: ") {
		t.Errorf("%+v", got)
	}
}

// TestEmptyInput: a flag whose value a variable did not give is refused: the command would take another input, such as a cluster or the directory.
func TestEmptyInput(t *testing.T) {
	t.Chdir(written(t, map[string]string{"web.yaml": orphan}))
	for _, test := range []struct{ flag, args string }{
		{"-f, --filename", "check -f"},
		{"-f, --filename", "check -f web.yaml -f"},
		{"-k, --kustomize", "check -k"},
		{"--helm", "check --helm"},
		{"--values", "check --helm x --values"},
		{"--crds", "check --crds"},
		{"--base", "check --base"},
		{"--base", "diff --base"},
		{"-f, --filename", "diff --base-ref HEAD -f"},
		{"-f, --filename", "trace svc/web:80 -f"},
		{"-f, --filename", "graph -f"},
		{"-k, --kustomize", "test -k"},
	} {
		got := run(t, "", append(strings.Fields(test.args), "")...)
		want := `error: invalid argument "" for "` + test.flag + `" flag: it is empty: a variable or a command that was to name the files gave none`
		if got.code != ExitUsage || got.stdout != "" || !strings.HasPrefix(got.stderr, want+"\n") {
			t.Errorf("%s: %+v", test.args, got)
		}
	}
}
