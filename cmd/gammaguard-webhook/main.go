// Command gammaguard-webhook serves the gammaguard admission webhooks and maintains
// the status of mesh routes.
package main

import (
	"context"
	"errors"
	"io"
	"log/slog"
	"os"
	"os/signal"
	"syscall"

	"github.com/go-logr/logr"
	"github.com/spf13/pflag"
	"k8s.io/klog/v2"
	ctrllog "sigs.k8s.io/controller-runtime/pkg/log"

	"github.com/gammaguard/gammaguard/internal/heap"
	"github.com/gammaguard/gammaguard/internal/printable"
	"github.com/gammaguard/gammaguard/internal/version"
	"github.com/gammaguard/gammaguard/webhook/server"
)

// The exit codes.
const (
	exitFailed = 1 // it could not run
	exitUsage  = 2 // a flag, or the configuration, is wrong
)

// headroom is by how much the heap may grow between two garbage collections, in bytes. On a
// small cluster little is live, and each request leaves garbage.
const headroom = 18 << 20

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	context.AfterFunc(ctx, stop) // a second signal kills the process
	os.Exit(run(ctx, os.Args[1:], os.Stdout, os.Stderr))
}

func run(ctx context.Context, args []string, stdout, stderr io.Writer) int {
	f, err := parse(args, stdout)
	switch {
	case errors.Is(err, pflag.ErrHelp):
		return 0
	case err != nil:
		printable.Fprintf(stderr, "gammaguard-webhook: %s\n", printable.Layout(printable.Error(err)))
		return exitUsage
	case f.version:
		printable.Fprintf(stdout, "gammaguard-webhook %s\n", version.Get())
		return 0
	}
	options, err := f.options()
	if err != nil {
		printable.Fprintf(stderr, "gammaguard-webhook: %s\n", printable.Layout(printable.Error(err)))
		return exitUsage
	}
	options.Log = f.log.logger(stderr)
	ctrllog.SetLogger(options.Log)
	klog.SetLogger(options.Log)
	slog.SetDefault(slog.New(logr.ToSlogHandler(options.Log))) // net/http logs by package log, which this takes over
	heap.GiveHeadroom(headroom)
	options.Log.Info("Starting", "version", version.Get().String())
	if err := server.Run(ctx, options); err != nil {
		options.Log.Error(err, "Stopped")
		return exitFailed
	}
	return 0
}
