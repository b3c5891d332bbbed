// Command gammaguard judges mesh routes in files by the same rules as the webhook,
// explains them, and shows who holds which Service port in a cluster. Named
// kubectl-gammaguard it is a plugin of kubectl.
package main

import (
	"os"

	"github.com/gammaguard/gammaguard/cmd/gammaguard/command"
)

//go:generate go run ../../docs/gen ../..

func main() { os.Exit(command.Main(os.Args, os.Stdin, os.Stdout, os.Stderr)) }
