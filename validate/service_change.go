package validate

import (
	"cmp"
	"fmt"
	"slices"
	"strconv"
	"strings"

	"github.com/gammaguard/gammaguard/mesh"
)

// ServiceChange is what a change or the deletion of a Service does to routes: the difference of
// its two tables. It is for one goroutine.
type ServiceChange struct {
	// Old is the Service as it is, nil if it is created; New as it will be, nil if it is deleted.
	Old, New *mesh.Service
	Key      mesh.ServiceKey
	// Own are sentences about routes of the Service's namespace.
	Own []string
	// Others counts the routes of other namespaces that no longer attach, and OtherSenders those that
	// send requests to a Service that is deleted.
	Others, OtherSenders int
	// Findings are those of RuleServiceBecomesExternalName: a route of the Service's namespace each.
	Findings []Finding

	engine        *Engine
	before, after *Table
}

// PreviewService returns the change of the Service, with nothing about routes yet.
func (e *Engine) PreviewService(world mesh.Reader, old, now *mesh.Service) *ServiceChange {
	key := cmp.Or(now, old).Key
	as := func(service *mesh.Service) *Table {
		return e.Table(mesh.ReaderFunc(func(read mesh.Read) mesh.Answer {
			switch {
			case read != (mesh.Read{Kind: mesh.ReadService, Service: key}):
				return world.Do(read)
			case service == nil:
				return mesh.Answer{Err: mesh.ErrNotFound}
			}
			return mesh.Answer{Service: service}
		}), key)
	}
	return &ServiceChange{Old: old, New: now, Key: key, engine: e, before: as(old), after: as(now)}
}

// AddParents adds the routes with a parentRef to the Service that attached before the change, and should not after it, also
// where the mesh ignores the sectionName that selects no port. Those of its namespace that AddUser finds are left out.
func (c *ServiceChange) AddParents() error {
	routes, err := mesh.AttachedRoutes(c.before.world, c.Key, "")
	if err != nil {
		return err
	}
	for _, route := range slices.SortedFunc(slices.Values(routes), (*mesh.AttachedRoute).CompareAge) {
		lost, err := becomes(route, c.before, c.after, (*Binding).attaches, (*Binding).detached)
		switch {
		case err != nil:
			return err
		case lost == nil, lost.attachment() == ParentExternalName && route.Namespace == c.Key.Namespace:
		case route.Namespace == c.Key.Namespace:
			c.Own = append(c.Own, route.String()+" "+c.loss(lost))
		default:
			c.Others++
		}
	}
	return nil
}

// AddSenders adds the routes that send requests to a Service that is deleted, and do not have it as a
// parent. It sorts them.
func (c *ServiceChange) AddSenders(routes []*mesh.AttachedRoute) {
	slices.SortFunc(routes, (*mesh.AttachedRoute).CompareAge)
	for _, route := range routes {
		switch {
		case !slices.ContainsFunc(route.Parents, func(ref mesh.ParentRef) bool { return ref.Class(c.engine.policy.Mesh) == mesh.MeshParent }):
		case route.Namespace == c.Key.Namespace:
			c.Own = append(c.Own, route.String()+" has this Service as a backend")
		default:
			c.OtherSenders++
		}
	}
}

// loss describes why the parentRef does not attach any more.
func (c *ServiceChange) loss(b *Binding) string {
	switch ref := b.parent.Ref; b.attachment() {
	case ParentHeadless:
		return "has this Service as a parent, which cannot be headless"
	case ParentProtocolMismatch:
		return fmt.Sprintf("selects %s ports, of which this change leaves none", b.Route.Kind.Transport())
	case ParentPortNotFound:
		if ref.Port == 0 && ref.SectionName == "" {
			return "has this Service as a parent, which would have no port"
		}
		if ref.Port != 0 && ref.SectionName != "" {
			return fmt.Sprintf("selects port %d named %s, which this change removes", ref.Port, ref.SectionName)
		}
		return fmt.Sprintf("selects port %s, which this change removes", cmp.Or(ref.SectionName, strconv.Itoa(int(ref.Port))))
	}
	return "has this Service as a parent"
}

// BecomesExternalName reports whether the change makes the Service unfit to be a parent or a backend.
func (c *ServiceChange) BecomesExternalName() bool {
	return c.New != nil && c.New.Type == mesh.ExternalName && (c.Old == nil || c.Old.Type != mesh.ExternalName)
}

// AddUser adds a route of the Service's namespace that may have it as a parent or a backend, when the
// Service becomes of type ExternalName. Routes of other namespaces do not count: who may write these
// would decide about the Services of others.
func (c *ServiceChange) AddUser(route *mesh.Route) {
	profile := c.engine.policy.Mesh
	if !route.HasMeshParent(profile) {
		return
	}
	var as []string
	for i := range route.Spec.ParentRefs {
		if ref := &route.Spec.ParentRefs[i]; ref.Class(profile) == mesh.MeshParent && ref.Service(route.Metadata.Namespace) == c.Key {
			as = append(as, "a parent")
			break
		}
	}
	for backend := range route.Backends() {
		if backend.Ref.IsService(profile) && backend.Ref.Service(route.Metadata.Namespace) == c.Key {
			as = append(as, "a backend")
			break
		}
	}
	if len(as) == 0 {
		return
	}
	f := Finding{
		Rule: RuleServiceBecomesExternalName, Field: "spec.type", Value: string(mesh.ExternalName),
		Problem: route.String() + " has this Service as " + strings.Join(as, " and ") + ", which cannot be of type ExternalName",
		Remedy:  "change the route first",
	}
	f.quote()
	c.Findings = append(c.Findings, f)
}

// Decide sets the effects of the findings by the action of the rule, the mode of the Service's
// namespace, and the exemptions, as for routes. It returns the verdict.
func (c *ServiceChange) Decide(namespace *mesh.Namespace, user User) Verdict {
	action := c.engine.Action(RuleServiceBecomesExternalName)
	for i := range c.Findings {
		c.Findings[i].Action, c.Findings[i].Effect, c.Findings[i].Downgraded = action, action, NotDowngraded
	}
	if action == Off {
		c.Findings = nil
	}
	if action == Deny {
		switch c.engine.policy.ModeIn(namespace) {
		case mesh.Warn:
			downgrade(c.Findings, Warn, DowngradedByMode)
		case mesh.Audit:
			downgrade(c.Findings, Audit, DowngradedByMode)
		}
		if c.engine.policy.Exemptions.Cover(user, c.Key.Namespace) {
			downgrade(c.Findings, Audit, DowngradedByExemption)
		}
	}
	return Verdict{Findings: c.Findings}
}
