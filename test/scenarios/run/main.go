// Command run plays a folder of scenarios three ways and says which passed:
//
//	go run ./test/scenarios/run <folder>
package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/signal"
	"syscall"

	"github.com/gammaguard/gammaguard/test/scenarios/runner"
)

// errFailed says that a scenario failed; what failed was printed.
var errFailed = errors.New("failed")

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	defer stop()
	err := run(ctx, os.Args[1:], os.Stdout, os.Stderr)
	switch {
	case errors.Is(err, errFailed):
		os.Exit(1)
	case err != nil:
		fmt.Fprintln(os.Stderr, "error:", err)
		os.Exit(2)
	}
}

func run(ctx context.Context, args []string, out, progress io.Writer) error {
	if len(args) != 1 {
		return errors.New("usage: run <folder of scenarios>")
	}
	scenarios, broken, err := runner.Load(args[0])
	if err != nil {
		return err
	}
	core, err := runner.NewCore(ctx)
	if err != nil {
		return err
	}
	for _, b := range broken { fmt.Fprintln(out, b.Name, b.Err) }
	failed := len(broken)
	for _, s := range scenarios {
		if f := runner.Play(ctx, core, s); len(f) > 0 { failed++; for _, x := range f { fmt.Fprintln(out, x) } }
	}
	fmt.Fprintf(out, "%d passed, %d failed\n", len(scenarios)+len(broken)-failed, failed)
	if failed > 0 { return errFailed }
	return nil
}
