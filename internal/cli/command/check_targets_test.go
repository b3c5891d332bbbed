package command

import (
	"strings"
	"testing"
)

// TestCheckTargets: a finding is blamed on a patch where kustomize takes the route for its target, and on the source of the route where it does not.
func TestCheckTargets(t *testing.T) {
	const field = "spec.rules[0].backendRefs[0].weight"
	for target, applies := range map[string]bool{
		"kind: HTTPRoute": true, "kind: HTTP": false, "kind: HTTPRoute|GRPCRoute": true, "version: v1": true, "version: v1beta1": false,
		"group: gateway.networking.k8s.io": true, "group: networking.k8s.io": false,
		"name: wagons": false, "name: freight": false, "name: wagons-freight": true, "name: ^wagons-freight$": true, "name: wagons.*": true,
		"name: wagons|locos": false, "name: city-wagons-freight": true, "name: city-wagons-freight-b": false, "name: a-city-wagons-freight-b": false,
		"namespace: depot": true, "namespace: yard": true, "namespace: dep": false, "kind: HTTPRoute, namespace: elsewhere": false,
		"labelSelector: tier=freight": true, "labelSelector: tier=passenger": false, "labelSelector: 'tier in (freight, x)'": true, "labelSelector: '!tier'": false,
		"annotationSelector: owner=yard": true, "annotationSelector: x=y": false, "kind: HTTPRoute, labelSelector: late=yes": false,
	} {
		t.Chdir(written(t, map[string]string{
			"base/route.yaml": "apiVersion: gateway.networking.k8s.io/v1\nkind: HTTPRoute\n" +
				"metadata: {name: wagons-freight, namespace: depot, labels: {tier: freight}, annotations: {owner: yard}}\n" +
				"spec:\n  parentRefs:\n  - {group: \"\", kind: Service, name: locos, port: 80}\n  rules:\n  - backendRefs:\n    - {name: locos, port: 80, weight: -2}\n",
			"base/kustomization.yaml": "namePrefix: city-\nnamespace: yard\nresources: [route.yaml]\n",
			"part/kustomization.yaml": "apiVersion: kustomize.config.k8s.io/v1alpha1\nkind: Component\npatches:\n- target: {" + target + "}\n" +
				"  patch: |-\n    - {op: replace, path: /spec/rules/0/backendRefs/0/weight, value: -1}\n",
			"top/kustomization.yaml": "nameSuffix: -b\nlabels: [{pairs: {late: 'yes'}}]\nresources: [../base]\ncomponents: [../part]\n",
		}))
		r, got := checkJSON(t, "", "-k", "top")
		if len(r.Routes) != 1 {
			t.Errorf("%s: %+v", target, got)
			continue
		}
		blamed, patched := "", false
		for _, f := range r.Routes[0].Findings {
			if f.Field == field {
				blamed, patched = f.File, strings.Contains(f.Message, "-1")
			}
		}
		if patched != applies {
			t.Errorf("%s: kustomize patches it: %t", target, patched)
		}
		if (blamed == "part/kustomization.yaml") != applies {
			t.Errorf("%s: applies: %t; blamed: %q", target, applies, blamed)
		}
	}
}
