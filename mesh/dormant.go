package mesh

import "slices"

// Dormant returns the parentRefs of a stored route that are dormant under the profile of a
// mesh: look-alikes, which no mesh at hand reads, and which one edit would bring to life.
func (r *Route) Dormant(profile *Profile) (set ParentSet) {
	if r.Kind.GrantOnly() { // gammaguard does not complete routes of other groups
		return 0
	}
	for i := range r.Spec.ParentRefs {
		if r.Spec.ParentRefs[i].Class(profile) == LookAlikeParent {
			set |= 1 << i
		}
	}
	return set
}

// Awake returns the route as it acts while these parentRefs are dormant: in the place of
// each is one to a Gateway, so that the others keep their indices. The route itself is not
// changed.
func (r *Route) Awake(dormant ParentSet) *Route {
	if dormant == 0 {
		return r
	}
	awake := *r
	awake.Spec.ParentRefs = slices.Clone(r.Spec.ParentRefs)
	for i := range awake.Spec.ParentRefs {
		if dormant.Has(i) {
			awake.Spec.ParentRefs[i] = ParentRef{Name: r.Spec.ParentRefs[i].Name}
		}
	}
	return &awake
}

// ReadBy returns the titles of the meshes that take the parentRef for one to a Service or
// ServiceImport.
func (p *ParentRef) ReadBy() []string {
	var titles []string
	for _, profile := range Profiles() {
		if p.Class(profile) == MeshParent {
			titles = append(titles, profile.Title)
		}
	}
	return titles
}
