// Package validate is the catalogue of gammaguard's rules and the engine that
// runs them: a route and a Reader in, a Verdict out.
//
// Each rule has one file, named after its ID. The engine checks grants first,
// then all other rules, and settles by the Policy what each finding leads to.
// The package is pure; the webhook, the command line and the documentation all
// drive this one engine.
package validate
