package validate

import "github.com/gammaguard/gammaguard/mesh"

// ParentFault runs the rule over one parentRef alone, of a route of which no more
// is known than others see of it, and returns the first finding, as one that
// denies; nil if there is none. The rule's action, the namespace's mode and the
// exemptions play no part. It is for rules about parentRefs, and gives the status
// of a route the words that its author reads at admission.
func (r *Rule) ParentFault(policy *Policy, world mesh.World, route *mesh.AttachedRoute, ref int) (*Finding, error) {
	pass := &Pass{
		Route: &mesh.Route{
			Kind:     route.Kind,
			Metadata: mesh.Metadata{Namespace: route.Namespace, Name: route.Name, Generation: route.Generation},
			Spec:     mesh.RouteSpec{ParentRefs: route.Parents[ref : ref+1]},
		},
		Policy: policy,
		world:  world,
		rule:   r,
	}
	r.Check(pass)
	if pass.err != nil || len(pass.findings) == 0 {
		return nil, pass.err
	}
	finding := &pass.findings[0]
	finding.Action, finding.Effect = Deny, Deny
	return finding, nil
}
