// Command cluster starts and stops a real single-node cluster, see package node.
package main

import (
	"context"
	"fmt"
	"os"
	"os/signal"
	"syscall"

	"github.com/gammaguard/gammaguard/test/node"
)

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	defer stop()
	if node.IsServe() {
		exit(node.Serve(ctx, os.Stderr))
	}
	if len(os.Args) != 2 {
		fmt.Fprintln(os.Stderr, "usage: cluster up | down")
		os.Exit(2)
	}
	var err error
	switch os.Args[1] {
	case "up":
		err = node.Up(ctx, os.Stderr)
	case "down":
		err = node.Down(ctx, os.Stderr)
	default:
		err = fmt.Errorf("unknown command %q: up or down", os.Args[1])
	}
	exit(err)
}

func exit(err error) {
	if err != nil {
		fmt.Fprintln(os.Stderr, "error:", err)
		os.Exit(1)
	}
	os.Exit(0)
}
