// Package validate is the engine that runs gammaguard's rules: a route and a Reader in, a
// Verdict out.
//
// New takes the rules as a value: package validate/rules has them, and this package does not
// know it. The engine checks grants first, then all other rules, and decides by the Policy what
// each finding leads to. The package is pure; the webhook and the command line drive this one
// engine.
//
// To write a rule, read Rule, which says what one is and when it runs, then Pass, through
// which it reads and reports, and Parent.
package validate
