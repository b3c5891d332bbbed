// Package standing keeps what the rules find on the stored routes: as a metric, and as
// reports where the configuration asks for them. It is the standing audit: every route is
// judged as if it were created now, and again when something that it was judged by
// changes. Only the leader audits.
package standing
