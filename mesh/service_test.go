package mesh_test

import (
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"

	"github.com/gammaguard/gammaguard/mesh"
)

func TestAttach(t *testing.T) {
	var (
		http   = mesh.Port{Name: "http", Number: 80, Protocol: mesh.TCP}
		admin  = mesh.Port{Name: "admin", Number: 8080, Protocol: mesh.TCP, AppProtocol: "http"}
		dns    = mesh.Port{Name: "dns", Number: 53, Protocol: mesh.UDP}
		dnsTCP = mesh.Port{Name: "dns-tcp", Number: 53, Protocol: mesh.TCP}
		sctp   = mesh.Port{Name: "sig", Number: 132, Protocol: "SCTP"}
	)
	web := mesh.Service{Type: mesh.ClusterIP, Ports: []mesh.Port{http, admin}}
	mixed := mesh.Service{Type: mesh.ClusterIP, Ports: []mesh.Port{dns, dnsTCP, http, sctp, admin}}
	for _, test := range []struct {
		name    string
		service mesh.Service
		kind    mesh.RouteKind
		ref     mesh.ParentRef
		ports   []mesh.Port
		why     mesh.Attachment
	}{
		{"all ports", web, mesh.HTTPRoute, mesh.ParentRef{}, []mesh.Port{http, admin}, mesh.Attached},
		{"by number", web, mesh.HTTPRoute, mesh.ParentRef{Port: 8080}, []mesh.Port{admin}, mesh.Attached},
		{"by name", web, mesh.GRPCRoute, mesh.ParentRef{SectionName: "http"}, []mesh.Port{http}, mesh.Attached},
		{"by both", web, mesh.TLSRoute, mesh.ParentRef{Port: 80, SectionName: "http"}, []mesh.Port{http}, mesh.Attached},
		{"by both, of two ports", web, mesh.HTTPRoute, mesh.ParentRef{Port: 80, SectionName: "admin"}, nil, mesh.NotAttachedNoPort},
		{"no such number", web, mesh.HTTPRoute, mesh.ParentRef{Port: 81}, nil, mesh.NotAttachedNoPort},
		{"no such name", web, mesh.HTTPRoute, mesh.ParentRef{SectionName: "grpc"}, nil, mesh.NotAttachedNoPort},
		{"a number is not a name", web, mesh.HTTPRoute, mesh.ParentRef{SectionName: "80"}, nil, mesh.NotAttachedNoPort},
		{"names have a case", web, mesh.HTTPRoute, mesh.ParentRef{SectionName: "HTTP"}, nil, mesh.NotAttachedNoPort},

		{"TCP and UDP under one number, TCPRoute", mixed, mesh.TCPRoute, mesh.ParentRef{Port: 53}, []mesh.Port{dnsTCP}, mesh.Attached},
		{"TCP and UDP under one number, UDPRoute", mixed, mesh.UDPRoute, mesh.ParentRef{Port: 53}, []mesh.Port{dns}, mesh.Attached},
		{"the transport picks among all ports", mixed, mesh.HTTPRoute, mesh.ParentRef{}, []mesh.Port{dnsTCP, http, admin}, mesh.Attached},
		{"the UDP ports of all", mixed, mesh.UDPRoute, mesh.ParentRef{}, []mesh.Port{dns}, mesh.Attached},
		{"a UDP port by name", mixed, mesh.HTTPRoute, mesh.ParentRef{SectionName: "dns"}, nil, mesh.NotAttachedTransport},
		{"a TCP port for UDP", mixed, mesh.UDPRoute, mesh.ParentRef{Port: 80}, nil, mesh.NotAttachedTransport},
		{"SCTP is for nobody", mixed, mesh.TCPRoute, mesh.ParentRef{Port: 132}, nil, mesh.NotAttachedTransport},
		{"no UDP port at all", web, mesh.UDPRoute, mesh.ParentRef{}, nil, mesh.NotAttachedTransport},

		{"NodePort", mesh.Service{Type: mesh.NodePort, Ports: []mesh.Port{http}}, mesh.HTTPRoute, mesh.ParentRef{}, []mesh.Port{http}, mesh.Attached},
		{"LoadBalancer", mesh.Service{Type: mesh.LoadBalancer, Ports: []mesh.Port{http}}, mesh.HTTPRoute, mesh.ParentRef{}, []mesh.Port{http}, mesh.Attached},
		{"headless", mesh.Service{Type: mesh.ClusterIP, Headless: true, Ports: []mesh.Port{http}}, mesh.HTTPRoute, mesh.ParentRef{Port: 80}, nil, mesh.NotAttachedHeadless},
		{"headless, and no such port", mesh.Service{Type: mesh.ClusterIP, Headless: true}, mesh.HTTPRoute, mesh.ParentRef{Port: 80}, nil, mesh.NotAttachedHeadless},
		{"ExternalName", mesh.Service{Type: mesh.ExternalName}, mesh.HTTPRoute, mesh.ParentRef{}, nil, mesh.NotAttachedExternalName},
		{"ExternalName with clusterIP None", mesh.Service{Type: mesh.ExternalName, Headless: true, Ports: []mesh.Port{http}}, mesh.HTTPRoute, mesh.ParentRef{Port: 80}, nil, mesh.NotAttachedExternalName},
		{"no ports", mesh.Service{Type: mesh.ClusterIP}, mesh.HTTPRoute, mesh.ParentRef{}, nil, mesh.NotAttachedNoPort},
	} {
		t.Run(test.name, func(t *testing.T) {
			before := append([]mesh.Port(nil), test.service.Ports...)
			ports, why := test.service.Attach(test.kind, &test.ref, nil)
			if diff := cmp.Diff(test.ports, ports); diff != "" || why != test.why {
				t.Errorf("got attachment %d, want %d; ports (-want +got):\n%s", why, test.why, diff)
			}
			_ = append(ports, mesh.Port{Name: "scribble"})
			if diff := cmp.Diff(before, test.service.Ports); diff != "" {
				t.Errorf("appending to the result changed the Service (-before +after):\n%s", diff)
			}
		})
	}
}

// TestAttachWithoutNames: a mesh that ignores sectionName has the port alone select, also where the name is
// one of another port or of none, which is a fault all the same.
func TestAttachWithoutNames(t *testing.T) {
	web, admin, dns := mesh.Port{Name: "web", Number: 80, Protocol: mesh.TCP}, mesh.Port{Name: "admin", Number: 81, Protocol: mesh.TCP}, mesh.Port{Name: "dns", Number: 53, Protocol: mesh.UDP}
	service := mesh.Service{Type: mesh.ClusterIP, Ports: []mesh.Port{web, admin, dns}}
	for _, test := range []struct {
		ref           mesh.ParentRef
		names, ignore []mesh.Port
		why           mesh.Attachment
	}{
		{mesh.ParentRef{SectionName: "web"}, []mesh.Port{web}, []mesh.Port{web, admin}, mesh.Attached},
		{mesh.ParentRef{SectionName: "gone"}, nil, []mesh.Port{web, admin}, mesh.NotAttachedNoPort},
		{mesh.ParentRef{SectionName: "dns"}, nil, []mesh.Port{web, admin}, mesh.NotAttachedTransport},
		{mesh.ParentRef{SectionName: "web", Port: 81}, nil, []mesh.Port{admin}, mesh.NotAttachedNoPort},
		{mesh.ParentRef{SectionName: "web", Port: 82}, nil, nil, mesh.NotAttachedNoPort},
		{mesh.ParentRef{Port: 81}, []mesh.Port{admin}, []mesh.Port{admin}, mesh.Attached},
	} {
		for name, want := range map[mesh.ProfileName][]mesh.Port{mesh.Kuma: test.names, mesh.Istio: test.ignore, mesh.Linkerd: test.ignore, mesh.Cilium: test.ignore} {
			ports, why := service.Attach(mesh.HTTPRoute, &test.ref, mesh.FindProfile(name))
			if diff := cmp.Diff(want, ports, cmpopts.EquateEmpty()); diff != "" || why != test.why {
				t.Errorf("%s, %+v: attachment %d, want %d; ports (-want +got):\n%s", name, test.ref, why, test.why, diff)
			}
		}
	}
}

func TestPortString(t *testing.T) {
	for want, port := range map[string]mesh.Port{
		"80":        {Number: 80, Protocol: mesh.TCP},
		"80 (http)": {Number: 80, Name: "http", AppProtocol: "tls"},
	} {
		if got := port.String(); got != want {
			t.Errorf("got %q, want %q", got, want)
		}
	}
}
