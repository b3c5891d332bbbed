package command

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

// TestConflictsOfFiles: the ports in manifests, without a cluster and without ages.
func TestConflictsOfFiles(t *testing.T) {
	const manifests = `
{apiVersion: v1, kind: Service, metadata: {name: cart, namespace: shop}, spec: {ports: [{port: 80}]}}
---
{apiVersion: v1, kind: Service, metadata: {name: own}, spec: {ports: [{port: 80}]}}
---
{apiVersion: gateway.networking.k8s.io/v1, kind: HTTPRoute, metadata: {name: web, namespace: shop}, spec: {parentRefs: [{kind: Service, name: cart}]}}
---
{apiVersion: gateway.networking.k8s.io/v1, kind: GRPCRoute, metadata: {name: calls, namespace: shop}, spec: {parentRefs: [{kind: Service, name: cart}, {kind: Service, name: gone}]}}
---
{apiVersion: gateway.networking.k8s.io/v1, kind: HTTPRoute, metadata: {name: own}, spec: {parentRefs: [{kind: Service, name: own}]}}
`
	const head = "NAMESPACE   SERVICE   PORT     SCOPE      WINNER                  LOSERS               WHY                                         OTHERS\n"
	for _, test := range []struct {
		name string
		args []string
		want result
	}{
		{"all", nil, result{
			stdout: head +
				"default     own       80/TCP   producer   HTTPRoute default/own   -                    the only route                              -\n" +
				"shop        cart      80/TCP   producer   GRPCRoute shop/calls    HTTPRoute shop/web   GRPCRoute is more specific than HTTPRoute   -\n",
			stderr: "Service shop/gone is not in the input, so its ports are not listed.\n",
		}},
		{"one namespace, for objects too", []string{"-n", "mine"}, result{
			stdout: "SERVICE   PORT     SCOPE      WINNER               LOSERS   WHY              OTHERS\nown       80/TCP   producer   HTTPRoute mine/own   -        the only route   -\n",
		}},
		{"a flag that needs a cluster", []string{"--context", "x"}, result{
			code: ExitUsage, stderr: "error: --context has no effect without --cluster\nSee 'gammaguard conflicts --help' for usage\n",
		}},
	} {
		t.Run(test.name, func(t *testing.T) {
			got := run(t, manifests, append([]string{"conflicts", "-f", "-"}, test.args...)...)
			if diff := cmp.Diff(test.want, got, cmp.AllowUnexported(result{})); diff != "" {
				t.Error("(-want +got)\n" + diff)
			}
		})
	}
	rejected := manifests + "---\n{apiVersion: gateway.networking.k8s.io/v1, kind: HTTPRoute, metadata: {name: bad, namespace: shop}, spec: {parentRefs: [{kind: Service, name: cart}], rules: [{matches: [{path: {value: x}}]}]}}\n"
	if got := run(t, rejected, "conflicts", "-f", "-", "-o", "wide"); strings.Contains(got.stdout, "shop/bad") || !strings.Contains(got.stderr, "HTTPRoute shop/bad is left out, because the API server rejects it") {
		t.Errorf("a rejected route: %+v", got)
	}
	gone := manifests[strings.LastIndex(manifests, "---\n"):]
	if got := run(t, gone, "conflicts", "-f", "-"); got != (result{stderr: "Service default/own is not in the input, so its ports are not listed.\n"}) {
		t.Errorf("a Service that is not in the input: %+v", got)
	}
	if got := run(t, "a: [", "conflicts", "-f", "-"); got.code != ExitUsage || got.stdout != "" {
		t.Errorf("a broken document: %+v", got)
	}
}
