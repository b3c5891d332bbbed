// Package node runs a real single-node cluster: the test bed's control plane with
// kube-controller-manager, kube-scheduler, kube-proxy, a kubelet and containerd,
// all built from their modules, so that gammaguard runs as users run it, in Pods,
// called by the API server through its Service.
//
// Everything runs inside a network namespace of its own, from which nothing leads
// outside, and in a PID and a mount namespace of its supervisor: when that ends, by
// cluster down or by kill -9, all that it started ends, and every mount goes.
// .cache/cluster holds the cluster's files: kubectl for use by hand, its logs, the
// API server's audit log.
//
// It needs root, Linux and a few Debian packages, which Prerequisites
// names where one is missing. The command in ./cluster starts and stops it.
package node
