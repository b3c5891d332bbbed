package desired

import (
	"cmp"

	"github.com/gammaguard/gammaguard/mesh"
	"github.com/gammaguard/gammaguard/validate"
)

// View computes the desired status of routes from one state of the cluster; it may or
// may not show later changes. It is for one goroutine.
type View struct {
	engine   *validate.Engine
	world    mesh.Reader
	settings Settings
	tables   *validate.Tables
}

// NewView returns a view of what the reader reads.
func NewView(engine *validate.Engine, world mesh.Reader, settings Settings) *View {
	settings.ConflictReason = cmp.Or(settings.ConflictReason, Conflicted)
	return &View{engine: engine, world: world, settings: settings, tables: engine.Tables(world)}
}

// Entries returns what the route's status must say about its parentRefs, in their
// order, and nothing about those that are as they should be. Unknown are the
// parentRefs, by index, of which that cannot be known. The error says that the reader
// could not be asked. A route that is being deleted has entries until it is gone, as
// meshes go on programming it. The route has its Backends.
func (v *View) Entries(route *mesh.AttachedRoute) (entries []Entry, unknown []int, err error) {
	return v.entries(route, func(mesh.ServiceKey) bool { return true })
}

// EntriesOn returns the entries about parentRefs to the Service, as Entries does.
func (v *View) EntriesOn(service mesh.ServiceKey, route *mesh.AttachedRoute) ([]Entry, error) {
	entries, _, err := v.entries(route, func(key mesh.ServiceKey) bool { return key == service })
	return entries, err
}

func (v *View) entries(route *mesh.AttachedRoute, about func(mesh.ServiceKey) bool) (entries []Entry, unknown []int, err error) {
	namespace, err := mesh.Known(mesh.FindNamespace(v.world, route.Namespace))
	if err != nil {
		return nil, nil, err
	}
	marked := v.engine.Marked(namespace)
	backends := v.engine.MarksBackends(namespace)
	for i := range route.Parents {
		ref := &route.Parents[i]
		if !route.IsMeshParent(i) || !about(ref.Service(route.Namespace)) {
			continue
		}
		parent := v.tables.Of(ref.Service(route.Namespace)).Parent(route, i)
		outcome, err := parent.Evaluate(marked)
		switch {
		case err != nil:
			return nil, nil, err
		case outcome.Fault != validate.NoFault:
			entries = append(entries, v.entry(i, outcome.Fault, &parent))
		case outcome.Unknown.Has(validate.ParentNotFound):
			unknown = append(unknown, i)
		case backends:
			f, err := validate.FindExternalNameBackend(v.world, route)
			if err != nil {
				return nil, nil, err
			}
			if f != nil {
				entries = append(entries, Entry{Ref: i, Problem: f.ProblemAlone(), Condition: Condition{
					Type: ResolvedRefs, Status: "False", Reason: BackendExternalName, Message: f.Message(), ObservedGeneration: route.Generation,
				}})
			}
		}
	}
	return entries, unknown, nil
}

// reasons are those of Accepted=False, but for Settings.ConflictReason.
var reasons = map[validate.Fault]string{
	validate.GrantMissing:           NamespaceNotGranted,
	validate.ConsumerRefused:        ConsumerRefused,
	validate.ParentNotFound:         NoMatchingParent,
	validate.ParentExternalName:     NoMatchingParent,
	validate.ParentHeadless:         NoMatchingParent,
	validate.ParentPortNotFound:     NoMatchingParent,
	validate.ParentProtocolMismatch: NoMatchingParent,
}

// entry returns the entry of the parentRef for the fault, with the same message as at
// admission.
func (v *View) entry(ref int, fault validate.Fault, parent *validate.Parent) Entry {
	finding := v.engine.Describe(fault, parent)
	c := Condition{
		Type: Accepted, Status: "False", Reason: cmp.Or(reasons[fault], v.settings.ConflictReason),
		Message: finding.Message(), ObservedGeneration: parent.Route.Generation,
	}
	if len(parent.Kept()) > 0 {
		c.Type, c.Status = PartiallyConflicted, "True"
	}
	return Entry{ref, c, finding.ProblemAlone()}
}
