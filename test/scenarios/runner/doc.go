// Package runner reads scenarios and plays them: text archives that say what is in
// a cluster, what is applied to it, and what must come of that. The format is
// described in test/scenarios/README.md.
//
// A Driver is a way to play one. All of them must lead to the same verdicts: the
// core in memory, the webhook's handlers over the same memory, and a real API
// server with the real kubectl and gammaguard in front of it.
package runner
