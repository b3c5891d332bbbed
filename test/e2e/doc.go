// Package e2e proves gammaguard where users run it: each overlay of config, applied
// with kubectl apply -k on a real single-node cluster (package node), with
// cert-manager running beside it. Its tests have the build tag e2e; make e2e runs
// them, as root. A failing run with GAMMAGUARD_KEEP=1 leaves the cluster up.
package e2e
