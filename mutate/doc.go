// Package mutate holds the named changes that gammaguard makes to routes, so
// that a reference which can mean only one thing works as its author wrote it.
//
// A change is pure and idempotent, says what it does and why, and never guesses:
// where two answers exist none is given, and the route is left as it is for the
// schema, its CEL rules and gammaguard's own rules to judge. Nothing here counts
// on these to run, nor do they count on a change having been made.
//
// Changes are made to the raw object by a JSON patch (Patch), which names only
// the members that it sets: fields that this build does not know stay as they
// are. Mutated makes the same changes to a decoded route.
package mutate
