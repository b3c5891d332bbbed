// Package check judges manifests by the same engine as the webhook, before
// anything is applied: files, folders, kustomizations and standard input in, a
// report.CheckReport out.
//
// All input is read first. Mutations are made as the cluster would make them, then
// every route is judged against all the others. What the input does not hold is
// looked up in the live cluster, if there is one, and else is unknown.
package check
