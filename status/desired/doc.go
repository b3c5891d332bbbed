// Package desired computes gammaguard's entries in the status of routes:
// a Service with its routes and surroundings in, entries out. It is pure; the
// reconciler in package status carries the entries out, and the scenarios compare
// with them.
//
// An entry exists only while something is wrong with the parentRef it is about,
// and is never Accepted=True: some meshes honor that from any controller.
package desired
