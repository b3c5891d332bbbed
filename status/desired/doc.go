// Package desired says what gammaguard's entries in the status of routes must be:
// a Service with its routes and surroundings in, entries out. It is pure; the
// reconciler in package status carries the entries out, and the scenarios compare
// with them.
//
// An entry exists only while something is wrong with the parentRef it is about,
// and never says Accepted=True: some meshes honour that from any controller.
package desired
