// Package report is what `gammaguard check` found, and the forms in which it is
// told: text for people, JSON for programs, SARIF for code scanning, and workflow
// commands for GitHub Actions.
package report
