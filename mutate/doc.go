// Package mutate holds the named changes that gammaguard makes to routes, so
// that a reference with only one possible meaning works as its author wrote it.
//
// A change is pure and idempotent, reports what it does and why, and never guesses:
// if there are two possible values, it sets none, and the schema, its CEL rules and
// gammaguard's own rules check the route as it is. Mutations and rules do not depend
// on each other.
//
// Changes are made to the raw object by a JSON patch (Patch), which names only
// the members that it sets: fields that this build does not know stay as they
// are. Mutated makes the same changes to a decoded route.
package mutate
