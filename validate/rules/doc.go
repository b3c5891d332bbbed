// Package rules is the catalog of gammaguard's rules: each has one file, named after its ID,
// with its texts, its default, and its check. Package validate says what a rule is
// (validate.Rule), what it may read (validate.Pass, validate.Parent), and when it runs.
//
// To add a rule, add its file, its line in Catalog, and its test, which calls testRule with
// routes and what the rule finds in each. Nothing else of the program knows the rules one by
// one, but for the few whose IDs are constants of package validate.
package rules
