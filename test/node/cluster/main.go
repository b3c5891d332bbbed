// Command cluster starts and stops a real single-node cluster, see package node.
package main

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/signal"
	"syscall"

	"github.com/gammaguard/gammaguard/test/node"
)

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	err := run(ctx, os.Args[1:])
	stop()
	if err != nil {
		fmt.Fprintln(os.Stderr, "error:", err)
		os.Exit(1)
	}
}

func run(ctx context.Context, args []string) error {
	switch {
	case node.IsServe():
		return node.Serve(ctx, os.Stderr)
	case len(args) == 1 && args[0] == "up":
		return node.Up(ctx, os.Stderr)
	case len(args) == 1 && args[0] == "down":
		return node.Down(ctx, os.Stderr)
	}
	return errors.New("usage: cluster up | down")
}
