package describe

import (
	"cmp"
	"errors"
	"fmt"
	"slices"

	"github.com/gammaguard/gammaguard/config"
	"github.com/gammaguard/gammaguard/internal/cli/answers"
	"github.com/gammaguard/gammaguard/internal/cli/audit"
	"github.com/gammaguard/gammaguard/internal/cli/bindings"
	"github.com/gammaguard/gammaguard/internal/cli/check"
	"github.com/gammaguard/gammaguard/internal/cli/grants"
	"github.com/gammaguard/gammaguard/internal/cli/report"
	"github.com/gammaguard/gammaguard/internal/manifest"
	"github.com/gammaguard/gammaguard/mesh"
	"github.com/gammaguard/gammaguard/validate"
	"github.com/gammaguard/gammaguard/validate/rules"
)

// RouteKind is the kind of the JSON and YAML forms of a description of a route.
const RouteKind = "RouteDescription"

// OneRoute is all about a route.
type OneRoute struct {
	report.TypeMeta
	RouteKind mesh.RouteKind `json:"routeKind"`
	Namespace string         `json:"namespace"`
	Name      string         `json:"name"`
	// Parents are its parentRefs, in their order.
	Parents []Parent `json:"parents"`
	// Findings are what the rules find on it as it is stored, with what mutations would set, and what
	// they would not for the mode or an owner.
	Findings []report.Finding `json:"findings"`
	Changes  []report.Change  `json:"changes"`
	Withheld []report.Change  `json:"withheld,omitempty"`
	// Commands fix what a command can fix, in the order in which they are to be run: the grant, then the
	// patches. A comment names an owner that is to be corrected instead.
	Commands []string `json:"commands"`
	// needsGrant reports whether one of them is a grant, which takes a mesh admin.
	needsGrant bool
	// Grants is the grant of its namespace; empty if that cannot be read.
	Grants []grants.Namespace `json:"grants"`
	// Notes name routes that lack the grant now, or are refused, and stay, and the labels and annotations of gammaguard that have no
	// effect where they are.
	Notes []string `json:"notes,omitempty"`
	// Unseen lists what the user cannot read.
	Unseen []string `json:"unseen,omitempty"`
}

// Parent is a parentRef of a route.
type Parent struct {
	Field string `json:"field"`
	// Parent reads "Service shop/cart", or "Deployment.apps shop/cart".
	Parent string `json:"parent"`
	// Mesh is false for what is not a parent in the mesh, such as a Gateway; acts says who acts on it.
	Mesh bool `json:"mesh"`
	acts string
	// Reason is why it may be meant to be a parent in the mesh, and how to make it one.
	Reason string `json:"reason,omitempty"`
	// Acknowledgement is what a mesh has answered about it.
	Acknowledgement *answers.Answer `json:"acknowledgement,omitempty"`
	// Ports are what becomes of the route by this parentRef, by port and scope.
	Ports []bindings.Route `json:"ports,omitempty"`
}

// FindRoute describes a route of the cluster. Own are the controllers
// whose entries in status are gammaguard's.
func FindRoute(cluster check.Cluster, configuration *config.GuardConfiguration, own []string, object *manifest.Object) (*OneRoute, error) {
	policy := configuration.Policy()
	engine, err := validate.New(rules.Catalog(), policy)
	if err != nil {
		return nil, err
	}
	routes, err := cluster.Routes(append(check.NamedBy(object.Route, policy.Mesh), object.Key.Namespace)...)
	if err != nil {
		return nil, err
	}
	stored, err := check.NewStored(cluster, routes, policy.Mesh)
	if err != nil {
		return nil, err
	}
	d := &OneRoute{
		TypeMeta: report.TypeMeta{APIVersion: report.StatesVersion, Kind: RouteKind}, RouteKind: object.Route.Kind, Namespace: object.Key.Namespace, Name: object.Key.Name,
		Parents: []Parent{}, Findings: []report.Finding{}, Changes: []report.Change{}, Commands: []string{},
	}
	book := answers.Read([]*manifest.Object{object}, own)
	for i := range object.Route.Spec.ParentRefs {
		parent, err := d.parentOf(engine, stored, object.Route, i, book)
		if err != nil {
			return nil, err
		}
		d.Parents = append(d.Parents, parent)
	}
	found, err := audit.Run(cluster, routes, &audit.Options{Config: configuration, Own: own, Only: object.Route})
	if err != nil {
		return nil, err
	}
	d.judged(found)
	namespace, err := mesh.Known(mesh.FindNamespace(stored, d.Namespace))
	if err != nil || namespace == nil {
		return d, err
	}
	d.Grants = grants.Find([]*mesh.Namespace{namespace}, []*manifest.Object{object}, policy).Items
	return d, nil
}

// parentOf describes the parentRef of that index.
func (d *OneRoute) parentOf(engine *validate.Engine, reader mesh.Reader, route *mesh.Route, index int, book *answers.Book) (Parent, error) {
	ref := &route.Spec.ParentRefs[index]
	parent := Parent{Field: mesh.ParentPath(index, "")}
	if class := ref.Class(engine.Policy().Mesh); class != mesh.MeshParent && class != mesh.LookAlikeParent {
		parent.Parent, parent.acts = kindOf(ref)+" "+cmp.Or(ref.Namespace, route.Metadata.Namespace)+"/"+ref.Name, "gammaguard leaves it alone"
		if class == mesh.ImplementationSpecificParent {
			parent.acts = "its implementation, if there is one, acts on it"
		}
		var err error
		parent.Reason, err = meant(reader, ref, route.Metadata.Namespace)
		return parent, err
	}
	key := ref.Service(route.Metadata.Namespace)
	answer := book.Of(route.String(), index)
	parent.Parent, parent.Mesh, parent.Acknowledgement = key.String(), true, &answer
	if route.Kind.GrantOnly() {
		return parent, nil
	}
	all, err := bindings.Sorted(engine, reader, key)
	if err != nil {
		return parent, err
	}
	service, why := mesh.FindService(reader, key)
	for i := range all {
		b := &all[i]
		if b.Route.String() != route.String() || b.Ref != index {
			continue
		}
		port := bindings.RouteOf(b, 0, book)
		if b.State == validate.Refused && errors.Is(why, mesh.ErrNotFound) { // a rule does not say so: in admission it would reveal it
			port.Reason += ", and " + key.String() + " does not exist"
		}
		if b.State.InEffect() && port.Reason == "" && service != nil {
			if port.Reason, port.Rule, err = ineffective(engine, reader, service, b); err != nil {
				return parent, err
			}
		}
		parent.Ports = append(parent.Ports, port)
		d.Notes = note(d.Notes, b, why)
	}
	return parent, nil
}

// kindOf returns the kind of what is not a parent in the mesh, with its group unless that is the Gateway API's: "Deployment.apps".
func kindOf(ref *mesh.ParentRef) string {
	switch group := ref.EffectiveGroup(); group {
	case mesh.GatewayGroup:
		return ref.EffectiveKind()
	case "":
		return ref.EffectiveKind() + " (core group)"
	default:
		return ref.EffectiveKind() + "." + group
	}
}

// meant says that a Service exists, and not the Gateway that the parentRef names; empty if that is not so, or cannot be known.
func meant(reader mesh.Reader, ref *mesh.ParentRef, namespace string) (string, error) {
	service := *ref
	service.Kind = mesh.ServiceKind
	if class := service.Class(nil); ref.EffectiveKind() != "Gateway" || class != mesh.MeshParent && class != mesh.LookAlikeParent {
		return "", nil
	}
	key := service.Service(namespace)
	gateway := mesh.ObjectKey{Group: mesh.GatewayGroup, Kind: "Gateway", Namespace: key.Namespace, Name: key.Name}
	if !errors.Is(mesh.FindObject(reader, gateway), mesh.ErrNotFound) {
		return "", nil
	}
	if found, err := mesh.Known(mesh.FindService(reader, key)); found == nil {
		return "", err
	}
	return fmt.Sprintf(`Gateway %s/%s does not exist, and %s does: if it is meant, set group: "" and kind: Service`, key.Namespace, key.Name, key), nil
}

// judged takes over what the rules found, and the commands that fix it.
func (d *OneRoute) judged(found *audit.Report) {
	patch := ""
	for i := range found.Routes {
		route := &found.Routes[i]
		d.Findings, d.Changes, d.Withheld = append(d.Findings, route.Findings...), append(d.Changes, route.Changes...), route.Withheld
		patch = route.Patch()
	}
	for i := range found.Namespaces {
		if command := found.Namespaces[i].Command; command != "" {
			d.Commands, d.needsGrant = append(d.Commands, command), true
		}
		d.Commands = append(d.Commands, found.Namespaces[i].Wake...)
	}
	if patch != "" {
		d.Commands = append(d.Commands, patch)
	}
	d.Commands = slices.Compact(d.Commands) // the parents that are dormant may lack the grant that the others lack
}
