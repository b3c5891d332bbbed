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
			name: "kinds that the core group does not have for backends", spec: cart + to(`{kind: Deployment, name: cart, port: 80}, {group: "", kind: Services, name: cart, port: 80}, {kind: service, name: cart, port: 80}`),
			want: []string{
				`Invalid spec.rules[0].backendRefs[0].kind "Deployment": kind Deployment in the core group cannot be a backend; use the Service in front of it, or set the group if your mesh has the kind`,
				`Invalid spec.rules[0].backendRefs[1].kind "Services": kind Services in the core group cannot be a backend; did you mean Service? If not, set its group`,
				`Invalid spec.rules[0].backendRefs[2].kind "service": kind service in the core group cannot be a backend; did you mean Service? If not, set its group`,
			},
		},
		{
			name: "kinds of Kubernetes' groups", spec: cart + to(`{group: apps, kind: StatefulSet, name: cart, port: 80}, {group: core, kind: Pod, name: cart, port: 80}, {group: apps, name: cart, port: 80}, {group: discovery.k8s.io, kind: EndpointSlice, name: cart, port: 80}, {group: net.gke.io, kind: ServiceImport, name: cart, port: 80}`),
			want: []string{
				`Invalid spec.rules[0].backendRefs[0].kind "StatefulSet": kind StatefulSet in group apps cannot be a backend; use the Service in front of it`,
				`Invalid spec.rules[0].backendRefs[1].kind "Pod": kind Pod in group core cannot be a backend; use the Service in front of it`,
				`Invalid spec.rules[0].backendRefs[2].kind "Service": kind Service in group apps cannot be a backend; did you mean Service? If so, leave group out`,
				`Invalid spec.rules[0].backendRefs[3].kind "EndpointSlice": kind EndpointSlice in group discovery.k8s.io cannot be a backend; use the Service in front of it`,
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
