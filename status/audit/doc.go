// Package audit keeps what the rules find on the stored routes: as a metric, and as Reports
// where the configuration asks for them. It is the standing audit, a controller keyed by
// namespace: the routes of a namespace are judged as if they were created now, and again when
// one of them changes, or something that they were judged by. Only the leader audits.
package audit
