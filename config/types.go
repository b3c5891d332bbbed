package config

import (
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/gammaguard/gammaguard/mesh"
)

// The apiVersion and kind of the configuration file.
const (
	APIVersion = "gammaguard.dev/v1alpha1"
	Kind       = "GuardConfiguration"
)

// GuardConfiguration is the content of the configuration file. Every field but
// apiVersion and kind may be left out.
type GuardConfiguration struct {
	metav1.TypeMeta `json:",inline"`

	// Mode is how deny rules act in namespaces without the label
	// gammaguard.dev/mode: enforce, warn or audit. Default: enforce.
	Mode mesh.Mode `json:"mode,omitempty"`

	// Mesh is the mesh whose limits gammaguard knows: istio, linkerd, cilium or kuma. Append the
	// version that runs if you know it, as in kuma@2.13: what a mesh supports changes between
	// releases, and with a release newer than gammaguard's facts nothing is denied for them.
	// It sets the defaults of routeKinds, of status.conflictReason, and of the rule
	// backend-not-permitted. Empty: the specification.
	Mesh mesh.ProfileName `json:"mesh,omitempty"`

	// RouteKinds are the route kinds that the mesh implements: only these compete
	// for Service ports. Default: those of the mesh, or all five.
	RouteKinds []mesh.RouteKind `json:"routeKinds,omitempty"`

	// Grants define what routes in namespaces may do, in addition to the namespaces' labels.
	Grants Grants `json:"grants,omitzero"`

	// Rules sets actions of rules by ID: deny, warn, audit or off. A rule that is
	// not named keeps its default.
	Rules map[string]RuleAction `json:"rules,omitempty"`

	// Mutations turns mutations on or off by ID. One that is not named is on.
	Mutations map[string]Switch `json:"mutations,omitempty"`

	// Parents defines the kinds that a parentRef may refer to.
	Parents Parents `json:"parents,omitzero"`

	// Exemptions define whose denials become audit entries.
	Exemptions Exemptions `json:"exemptions,omitzero"`

	// Status is how conflicts are reported in routes' status.
	Status Status `json:"status,omitzero"`

	// Preview has a server-side dry run of a route warn which requests go somewhere
	// else. Default: false.
	Preview bool `json:"preview,omitempty"`

	// Reports has the findings on stored routes written as objects too: openreports
	// writes one Report of openreports.io for each namespace. Default: off.
	Reports ReportFormat `json:"reports,omitempty"`
}

// ReportFormat is a kind of objects that findings are written to.
type ReportFormat string

// The formats of reports.
const (
	// NoReports: findings are not written to objects.
	NoReports ReportFormat = "off"
	// OpenReports are the Reports of openreports.io.
	OpenReports ReportFormat = "openreports"
)

// Grants define what routes in namespaces may do, in addition to the namespaces' labels.
type Grants struct {
	// Default is the grant of namespaces without the label gammaguard.dev/grant:
	// none, producer, consumer or all. Default: none.
	Default mesh.Grant `json:"default,omitempty"`

	// ConsumerRoutes is whether Services accept consumer routes where neither they nor their
	// namespaces have the label gammaguard.dev/consumer-routes: allow or deny. Default: allow.
	ConsumerRoutes mesh.ConsumerRoutes `json:"consumerRoutes,omitempty"`

	// Selectors grant roles to the namespaces that they select. They add to the
	// label or the default; only the label none beats them. Who may set the labels
	// that they select by is for the cluster to guard: gammaguard guards its own.
	Selectors []GrantSelector `json:"selectors,omitempty"`

	// ParentKinds, as "Kind.group", are kinds besides Service and ServiceImport whose
	// routes shape mesh traffic, and so need a grant. Default:
	// ServiceEntry.networking.istio.io, MeshService.kuma.io and
	// EgressNetwork.policy.linkerd.io. Empty: none.
	ParentKinds []string `json:"parentKinds"`

	// Contact is whom to ask for a grant, in one line: a text or a URL, shown in
	// denials. Empty: a mesh admin.
	Contact string `json:"contact,omitempty"`
}

// GrantSelector grants roles, for some kinds of routes, to namespaces.
type GrantSelector struct {
	// NamespaceSelector selects the namespaces by their labels; an empty one, {},
	// selects all. Required.
	NamespaceSelector *metav1.LabelSelector `json:"namespaceSelector"`

	// Roles are the roles granted: producer, consumer. Required.
	Roles []mesh.Role `json:"roles"`

	// RouteKinds are the kinds of routes granted. Default: all five.
	RouteKinds []mesh.RouteKind `json:"routeKinds,omitempty"`
}

// Parents defines the kinds that a parentRef may refer to.
type Parents struct {
	// AllowedKinds, as "Kind.group", are the kinds of other implementations that a
	// parentRef may refer to. Empty: any, they are left alone.
	AllowedKinds []string `json:"allowedKinds,omitempty"`

	// RouteKinds are, by "Kind.group", the kinds of routes that may have a parent of that kind.
	// A kind that is not named: all.
	RouteKinds map[string][]mesh.RouteKind `json:"routeKinds,omitempty"`
}

// Exemptions define users, groups, and namespaces whose denials become audit
// entries.
type Exemptions struct {
	// Usernames are names of users as the API server knows them.
	Usernames []string `json:"usernames,omitempty"`
	// Groups are groups of users as the API server knows them.
	Groups []string `json:"groups,omitempty"`
	// Namespaces are the routes' own namespaces.
	Namespaces []string `json:"namespaces,omitempty"`
}

// Status is how conflicts are reported in routes' status.
type Status struct {
	// ControllerName marks gammaguard's entries in status.parents: a domain and a
	// path, as the Gateway API demands. Default: gammaguard.dev/guard.
	ControllerName string `json:"controllerName,omitempty"`

	// FormerControllerNames are what controllerName was before: gammaguard removes
	// the entries under these names.
	FormerControllerNames []string `json:"formerControllerNames,omitempty"`

	// ConflictReason is the reason of Accepted=False on routes that lost every
	// port. Default: that of the mesh, or Conflicted.
	ConflictReason string `json:"conflictReason,omitempty"`
}

// RuleAction is a rule's action in the file.
type RuleAction string

// Switch turns a mutation on or off.
type Switch string

// The positions of a Switch.
const (
	On  Switch = "on"
	Off Switch = "off"
)

// UnmarshalJSON accepts the words. In YAML 1.1, which Kubernetes reads, an unquoted
// off is the boolean false, and on is true.
func (a *RuleAction) UnmarshalJSON(data []byte) error {
	*a = RuleAction(word(data))
	return nil
}

// UnmarshalJSON accepts the words as RuleAction does.
func (f *ReportFormat) UnmarshalJSON(data []byte) error {
	if *f = ""; string(data) != `""` { // what the default was before
		*f = ReportFormat(word(data))
	}
	return nil
}

// UnmarshalJSON accepts the words as RuleAction does.
func (s *Switch) UnmarshalJSON(data []byte) error {
	*s = Switch(word(data))
	return nil
}
