package node

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"strings"
)

const (
	// namespace is the network namespace that everything runs in.
	namespace = "gammaguard"
	// NodeIP is the node's address, of a range for documentation (RFC 5737).
	NodeIP = "192.0.2.2"
	// podCIDR is the range of Pod addresses.
	podCIDR = "10.244.0.0/24"
)

// namespacePath is the file that stands for the network namespace.
func namespacePath() string { return "/run/netns/" + namespace }

// createNetwork makes the network namespace: loopback, and a veth pair with the
// node's address on one end. The default route leads to that pair, which leads
// nowhere.
func createNetwork(ctx context.Context) error {
	if _, err := os.Stat(namespacePath()); err == nil {
		return fmt.Errorf("the network namespace %s is there already: is a cluster running? (make cluster-down)", namespace)
	}
	if err := run(ctx, "ip", "netns", "add", namespace); err != nil {
		return err
	}
	for _, args := range [][]string{
		{"link", "set", "lo", "up"},
		{"link", "add", "node0", "type", "veth", "peer", "name", "node1"},
		{"addr", "add", NodeIP + "/24", "dev", "node0"},
		{"link", "set", "node0", "up"},
		{"link", "set", "node1", "up"},
		{"route", "add", "default", "dev", "node0"},
	} {
		if err := run(ctx, "ip", append([]string{"-n", namespace}, args...)...); err != nil {
			return errors.Join(err, deleteNetwork(ctx))
		}
	}
	return nil
}

// deleteNetwork deletes the network namespace, and with it all that kube-proxy
// and the network plugins did there.
func deleteNetwork(ctx context.Context) error {
	if _, err := os.Stat(namespacePath()); errors.Is(err, os.ErrNotExist) {
		return nil
	}
	return run(ctx, "ip", "netns", "delete", namespace)
}

// run runs a command and puts what it prints into the error.
func run(ctx context.Context, name string, args ...string) error {
	out, err := exec.CommandContext(ctx, name, args...).CombinedOutput()
	if err != nil {
		return fmt.Errorf("%s %s: %w: %s", name, strings.Join(args, " "), err, strings.TrimSpace(string(out)))
	}
	return nil
}
