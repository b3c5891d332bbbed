package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"runtime/debug"
	"strconv"

	"github.com/spf13/pflag"

	"github.com/gammaguard/gammaguard/webhook/handover"
)

// holdPort, as the first argument, has the process hold the webhooks' port open
// while the server, another process, is killed and started again.
const holdPort = "hold-port"

// holdFlags are the command line behind hold-port.
type holdFlags struct {
	host string
	port int
	path string
	log  logFlags
}

func parseHold(args []string, stdout io.Writer) (*holdFlags, error) {
	f := new(holdFlags)
	set := newFlagSet()
	declareAddress(set, &f.host, &f.port)
	set.StringVar(&f.path, "listener-socket", "", "unix socket to make, by which the server gets the port's socket (required)")
	f.log.declare(set)
	about := "Holds the webhooks' port open while the server is killed and started again, and hands its\nsocket to the server, which runs beside it with the same --listener-socket.\n\nUsage: gammaguard-webhook " + holdPort + " [flags]"
	if err := parseFlags(set, args, about, stdout); err != nil {
		return nil, err
	}
	if err := checkWebhookAddress(f.host, f.port); err != nil {
		return nil, err
	}
	if f.path == "" {
		return nil, errors.New("--listener-socket: must not be empty")
	}
	return f, nil
}

func hold(ctx context.Context, args []string, stdout, stderr io.Writer) int {
	f, err := parseHold(args, stdout)
	switch {
	case errors.Is(err, pflag.ErrHelp):
		return 0
	case err != nil:
		fmt.Fprintln(stderr, "gammaguard-webhook:", err)
		return exitUsage
	}
	log := f.log.logger(stderr)
	log.Info("Starting", "version", buildVersion())
	debug.FreeOSMemory() // what the server's packages needed to come up is not needed again
	if err := handover.Hold(ctx, net.JoinHostPort(f.host, strconv.Itoa(f.port)), f.path, log); err != nil {
		log.Error(err, "Stopped")
		return exitFailed
	}
	return 0
}
