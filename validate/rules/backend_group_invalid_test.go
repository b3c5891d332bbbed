package rules

import "testing"

func TestBackendGroupInvalid(t *testing.T) {
	cart := on(service("cart"))
	testRule(t, backendGroupInvalid(), []ruleCase{
		{name: "right groups", spec: cart + to(`{name: cart, port: 80}, {group: "", kind: Service, name: cart, port: 80}, {group: multicluster.x-k8s.io, kind: ServiceImport, name: cards, port: 80}, {group: serving.knative.dev, kind: Service, name: cart, port: 80}`)},
		{
			name: "wrong groups", spec: cart + to(`{group: core, name: cart, port: 80}, {group: core, kind: ServiceImport, name: cards, port: 80}`),
			want: []string{
				`Invalid spec.rules[0].backendRefs[0].group "core": kind Service is in the core group; leave group out or set it to ""`,
				`Invalid spec.rules[0].backendRefs[1].group "core": kind ServiceImport is in multicluster.x-k8s.io; set group: multicluster.x-k8s.io`,
			},
		},
		{
			name: "kinds that the core group does not have for backends", spec: cart + to(`{kind: Deployment, name: cart, port: 80}, {group: "", kind: Services, name: cart, port: 80}, {kind: service, name: cart, port: 80}, {group: apps, kind: Deployment, name: cart, port: 80}`),
			want: []string{
				`Invalid spec.rules[0].backendRefs[0].kind "Deployment": kind Deployment in the core group cannot be a backend; use a Service, or set the group if your mesh has the kind`,
				`Invalid spec.rules[0].backendRefs[1].kind "Services": kind Services in the core group cannot be a backend; did you mean Service? If not, set its group`,
				`Invalid spec.rules[0].backendRefs[2].kind "service": kind service in the core group cannot be a backend; did you mean Service? If not, set its group`,
			},
		},
		{
			name: "mirrors", spec: cart + mirrorTo(`{group: core, kind: Service, name: cart, port: 80}`),
			want: []string{
				`Invalid spec.rules[0].filters[0].requestMirror.backendRef.group "core": kind Service is in the core group; leave group out or set it to ""`,
				`Invalid spec.rules[0].backendRefs[0].filters[0].requestMirror.backendRef.group "core": kind Service is in the core group; leave group out or set it to ""`,
			},
		},
	})
}
