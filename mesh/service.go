package mesh

import "strconv"

// The kinds that can be a mesh parent.
const (
	ServiceKind       = "Service"
	ServiceImportKind = "ServiceImport"
)

// ServiceKey names a Service or ServiceImport.
type ServiceKey struct {
	Kind, Namespace, Name string
}

// String reads "Service shop/cart".
func (k ServiceKey) String() string { return k.Kind + " " + k.Namespace + "/" + k.Name }

// Protocol is a transport protocol, as in a Service port.
type Protocol string

// The transport protocols of Service ports that a route can match.
const (
	TCP Protocol = "TCP"
	UDP Protocol = "UDP"
)

// Service is what gammaguard reads of a Service or ServiceImport. Its tags are
// those of the spec: a further field of the spec is read by its line here.
type Service struct {
	Key ServiceKey `json:"-"`
	// ServiceMetadata is what is read of the metadata.
	ServiceMetadata `json:"-"`
	// Type is ClusterIP where a Service leaves it out; for a ServiceImport
	// ClusterIP stands for ClusterSetIP.
	Type ServiceType `json:"type"`
	// Headless is set for clusterIP None and for ServiceImports of type Headless.
	// It has no meaning for a Service of type ExternalName.
	Headless bool `json:"-"`
	// Alias is the host that a Service of type ExternalName stands for. Requests to any port go there, whether the Service lists it or not.
	Alias string `json:"externalName"`
	Ports []Port `json:"ports"`
}

// ServiceMetadata is what gammaguard reads of the metadata of a Service or
// ServiceImport, its name apart: a further field is read by its line here.
type ServiceMetadata struct {
	ServiceLabels `json:"labels"`
	// ConsumerAnnotations narrow which consumer routes it accepts.
	ConsumerAnnotations `json:"annotations"`
	// DeletionTimestamp is empty unless the Service is being deleted.
	DeletionTimestamp string `json:"deletionTimestamp"`
}

// Terminating reports whether the Service is being deleted.
func (s *Service) Terminating() bool { return s.DeletionTimestamp != "" }

// ServiceLabels are the labels that gammaguard reads on a Service or ServiceImport.
type ServiceLabels struct {
	// ConsumerRoutes is the value of ConsumerRoutesLabel, empty where there is none.
	ConsumerRoutes string `json:"gammaguard.dev/consumer-routes"`
	// Waypoint is the value of WaypointLabel, empty where there is none.
	Waypoint string `json:"istio.io/use-waypoint"`
}

// ServiceType is a Service's type.
type ServiceType string

// The types of a Service.
const (
	ClusterIP    ServiceType = "ClusterIP"
	NodePort     ServiceType = "NodePort"
	LoadBalancer ServiceType = "LoadBalancer"
	ExternalName ServiceType = "ExternalName"
)

// Port is one port of a Service.
type Port struct {
	Name        string   `json:"name"`
	Number      int32    `json:"port"`
	Protocol    Protocol `json:"protocol"` // TCP where it is left out
	AppProtocol string   `json:"appProtocol"`
}

// String reads "80", "80 (http)" for a named port, or "http" for one whose number is not known.
func (p Port) String() string {
	number := strconv.Itoa(int(p.Number))
	switch {
	case p.Name == "":
		return number
	case p.Number == 0:
		return p.Name
	}
	return number + " (" + p.Name + ")"
}

// Attachment reports whether a parentRef attaches to a Service, or why not.
type Attachment uint8

const (
	// Attached: at least one port is selected and speaks the route's transport.
	Attached Attachment = iota
	// NotAttachedExternalName: the Service is of type ExternalName.
	NotAttachedExternalName
	// NotAttachedHeadless: the Service has no cluster IP.
	NotAttachedHeadless
	// NotAttachedNoPort: port and sectionName select no port.
	NotAttachedNoPort
	// NotAttachedTransport: ports are selected, none speaks the transport.
	NotAttachedTransport
)

// Attach returns the ports of the Service that a route of the given kind
// attaches to by the parentRef (GEP-1294, Ports; Allowed service types), and why
// it should not attach. Without port and sectionName all ports are selected; where
// both are set, both must match the same port. The type is checked before the
// cluster IP: an ExternalName Service has none. A mesh that ignores sectionName
// attaches the route to the ports that port alone selects, also if it should not.
// The result may share memory with the Service: it is not to be changed.
func (s *Service) Attach(kind RouteKind, ref *ParentRef, profile *Profile) ([]Port, Attachment) {
	if s.Type == ExternalName {
		return nil, NotAttachedExternalName
	}
	if s.Headless {
		return nil, NotAttachedHeadless
	}
	ports, attachment := s.selectPorts(kind, ref.Port, ref.SectionName)
	if ref.SectionName != "" && profile.IgnoresSectionName() {
		ports, _ = s.selectPorts(kind, ref.Port, "")
	}
	return ports, attachment
}

// selectPorts returns the ports of the kind's transport that a number and a name select, zero
// and "" for any, and why there are none.
func (s *Service) selectPorts(kind RouteKind, number int32, name string) ([]Port, Attachment) {
	selected := s.Ports
	if number != 0 || name != "" {
		selected = filterPorts(s.Ports, func(p *Port) bool {
			return (number == 0 || p.Number == number) && (name == "" || p.Name == name)
		})
	}
	if len(selected) == 0 {
		return nil, NotAttachedNoPort
	}
	ports := filterPorts(selected, func(p *Port) bool { return p.Protocol == kind.Transport() })
	if len(ports) == 0 {
		return nil, NotAttachedTransport
	}
	return ports, Attached
}

// filterPorts returns the ports that pass, without a copy where they lie side by
// side, as they do in all but odd Services.
func filterPorts(ports []Port, pass func(*Port) bool) []Port {
	first := 0
	for first < len(ports) && !pass(&ports[first]) {
		first++
	}
	last := first
	for last < len(ports) && pass(&ports[last]) {
		last++
	}
	kept := ports[first:last:last]
	for i := last; i < len(ports); i++ {
		if pass(&ports[i]) {
			kept = append(kept, ports[i])
		}
	}
	return kept
}
