package kubectl

import (
	"fmt"
	"testing"

	"github.com/google/go-cmp/cmp"
)

// TestUngrantedAnswers applies routes on another namespace's Service without a
// grant, before that Service is there and after: all that kubectl prints, what the
// mutating webhook says included, is byte for byte the same.
func TestUngrantedAnswers(t *testing.T) {
	start(t, "")
	apply(t, `{apiVersion: v1, kind: Namespace, metadata: {name: blind}}`)
	apply(t, `{apiVersion: v1, kind: Namespace, metadata: {name: hidden}}`)
	const route = `{apiVersion: gateway.networking.k8s.io/v1, kind: HTTPRoute, metadata: {name: probe, namespace: blind}, spec: {
		parentRefs: [{kind: Service, name: secret, namespace: hidden, port: 80}%s], rules: [{backendRefs: [{name: secret, namespace: hidden%s}]}]}}`
	routes := map[string]string{
		"one port":          fmt.Sprintf(route, "", ", port: 80"),
		"a port to fill in": fmt.Sprintf(route, "", ""),
		"two ports":         fmt.Sprintf(route, ", {kind: Service, name: secret, namespace: hidden, port: 90}", ", port: 80"),
	}
	answers := func() map[string]string {
		said := map[string]string{}
		for name, manifest := range routes {
			stdout, stderr, err := plane.Kubectl(t.Context(), manifest, "apply", "-f", "-")
			if err == nil {
				t.Errorf("%s: admitted without a grant", name)
			}
			said[name] = stdout + stderr
		}
		return said
	}
	without := answers()
	apply(t, `{apiVersion: v1, kind: Service, metadata: {name: secret, namespace: hidden}, spec: {ports: [{name: http, port: 80}, {name: admin, port: 90}]}}`)
	if diff := cmp.Diff(without, answers()); diff != "" {
		t.Errorf("answers (-without the Service +with it):\n%s", diff)
	}
}
