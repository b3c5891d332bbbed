package mutate

import "slices"

// Mutation is one named change. Its texts are written for the catalog, which is
// also the documentation.
type Mutation struct {
	// ID is stable and is never reused.
	ID string
	// Title describes in one line what is set, and when.
	Title string
	// Rationale explains why that is what the author meant.
	Rationale string
	// Citation names the document and section that it rests on.
	Citation string
	// ReadsServices reports whether the mutation reads Services. The others read
	// only the route.
	ReadsServices bool

	// find returns the changes to the pass's route, without their ID.
	find func(*pass) []Change
}

// catalog is in the order in which mutations are made: each sees the route as
// those before it leave it. It never changes.
var catalog = []*Mutation{
	parentKind(),
	parentGroup(),
	backendGroup(),
	backendPort(),
	parentPort(),
	parentSection(),
}

// Catalog returns every mutation, in the order in which they are made. What it
// points to is not to be changed.
func Catalog() []*Mutation { return slices.Clone(catalog) }

// Names returns the ID of every mutation, sorted.
func Names() []string {
	names := make([]string, len(catalog))
	for i, m := range catalog {
		names[i] = m.ID
	}
	slices.Sort(names)
	return names
}
