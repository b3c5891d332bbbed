//go:build linux

// Command cluster starts and stops a real single-node cluster, see package node.
package main

import (
	"context"
	"errors"

	"github.com/gammaguard/gammaguard/test/bed"
	"github.com/gammaguard/gammaguard/test/node"
)

func main() { bed.Main(run) }

func run(ctx context.Context, args []string) error {
	switch {
	case node.IsServe():
		return node.Serve(ctx)
	case len(args) == 1 && args[0] == "up":
		return node.Up(ctx)
	case len(args) == 1 && args[0] == "down":
		return node.Down(ctx)
	}
	return errors.New("usage: cluster up | down")
}
