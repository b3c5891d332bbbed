// Package status keeps gammaguard's entries in the status of routes as package
// desired says that they must be.
//
// Work is queued by Service: whatever changes, the Services whose routes may
// stand differently are looked at anew, found by index, and only the entries
// about them are touched, so that each entry has one writer at a time. The
// entries are compared with what the cache holds; only where they differ is
// anything read or written.
//
// A write reads the route live, judges it again over live reads, replaces our
// entries in status.parents, leaves those of other controllers byte for byte, and
// patches under the resourceVersion that was read.
//
// Only the leader runs it. Add registers it with a manager.
package status
