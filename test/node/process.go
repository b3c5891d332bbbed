package node

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"time"

	"k8s.io/apimachinery/pkg/util/wait"
)

// process is one of the cluster's servers. What it prints goes to a file of its
// name.
type process struct {
	name string
	cmd  *exec.Cmd
	done chan struct{}
	err  error
}

// start starts a server in the network namespace that this process is in.
func (c *cluster) start(name, path string, args ...string) error {
	log, err := os.Create(filepath.Join(c.dir, "logs", name+".log"))
	if err != nil {
		return err
	}
	p := &process{name: name, cmd: exec.Command(path, args...), done: make(chan struct{})} //nolint:noctx // it ends with the PID namespace
	p.cmd.Stdout, p.cmd.Stderr = log, log
	p.cmd.Env = append(os.Environ(), "PATH="+c.path("bin")+":"+os.Getenv("PATH"))
	if err := p.cmd.Start(); err != nil {
		return errors.Join(fmt.Errorf("start %s: %w", name, err), log.Close())
	}
	go func() {
		p.err = p.cmd.Wait()
		_ = log.Close()
		close(p.done)
		c.end()
	}()
	c.processes = append(c.processes, p)
	return nil
}

// died returns an error that names the first server that has ended by itself.
func (c *cluster) died() error {
	for _, p := range c.processes {
		select {
		case <-p.done:
			return fmt.Errorf("%s ended: %w (see %s)", p.name, p.err, filepath.Join(c.dir, "logs", p.name+".log"))
		default:
		}
	}
	return nil
}

// wait calls ready until it returns nil, a server ends, or the timeout is over.
func (c *cluster) wait(ctx context.Context, timeout time.Duration, what string, ready func(context.Context) error) error {
	var last error
	err := wait.PollUntilContextTimeout(ctx, 200*time.Millisecond, timeout, true, func(ctx context.Context) (bool, error) {
		last = ready(ctx)
		return last == nil, c.died()
	})
	if err != nil {
		return fmt.Errorf("wait for %s: %w", what, errors.Join(err, last))
	}
	return nil
}
