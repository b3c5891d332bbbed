// Command gammaguard judges mesh routes in files by the same rules as the webhook,
// explains them, and shows who holds which Service port in a cluster. Named
// kubectl-gammaguard it is a plugin of kubectl.
package main

import (
	"os"

	"github.com/go-logr/logr"
	"k8s.io/klog/v2"

	"github.com/gammaguard/gammaguard/internal/cli/build"
	"github.com/gammaguard/gammaguard/internal/cli/command"
	"github.com/gammaguard/gammaguard/internal/heap"
)

// headroom is by how much the heap may grow between two garbage collections, in bytes: most of
// what a check reads is garbage at once.
const headroom = 64 << 20

//go:generate go run ../../docs/gen ../..

func main() {
	build.Main()
	heap.GiveHeadroom(headroom)
	klog.SetLogger(logr.Discard()) // client-go logs errors that it returns too
	os.Exit(command.Main(os.Args, os.Stdin, os.Stdout, os.Stderr))
}
