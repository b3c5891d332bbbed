// Package status maintains gammaguard's entries in the status of routes. Package
// desired computes them.
//
// Work is queued by Service: after a change, the Services whose routes may be
// affected are found by index and reconciled, and only the entries about them
// are written, so that each entry has one writer at a time. The
// entries are compared with what the cache holds; only where they differ is
// anything read or written.
//
// A write reads the route live, evaluates it again with live reads, replaces our
// entries in status.parents, leaves those of other controllers byte for byte, and
// patches under the resourceVersion that was read.
//
// Where other controllers undo what was written, the damper spaces the writes; where one
// takes entries of ours for its own, they come back behind its entries.
//
// Only the leader runs it. Add registers it with a manager.
package status
