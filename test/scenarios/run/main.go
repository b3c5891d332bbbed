// Command run plays a folder of scenarios three ways and says which passed:
//
//	go run ./test/scenarios/run <folder>
//
// It exits with 0 if all passed, with 1 if any failed, and with 2 if the folder
// holds no scenario or what the scenarios need does not start.
package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/signal"
	"strings"
	"syscall"

	"github.com/gammaguard/gammaguard/test/scenarios/runner"
)

// errFailed says that a scenario failed; what failed was printed.
var errFailed = errors.New("scenarios failed")

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	err := run(ctx, os.Args[1:], os.Stdout)
	stop()
	switch {
	case errors.Is(err, errFailed):
		os.Exit(1)
	case err != nil:
		fmt.Fprintln(os.Stderr, "error:", err)
		os.Exit(2)
	}
}

func run(ctx context.Context, args []string, out io.Writer) (err error) {
	if len(args) != 1 {
		return errors.New("usage: run <folder of scenarios>")
	}
	scenarios, broken, err := runner.Load(args[0])
	if err != nil {
		return err
	}
	runner.Sort(scenarios)
	r := &report{out: out}
	for _, b := range broken {
		r.add(b.Name, b.Err.Error())
	}
	if len(scenarios) > 0 {
		if err := play(ctx, scenarios, r); err != nil {
			return err
		}
	}
	fmt.Fprintf(out, "%d passed, %d failed\n", r.passed, r.failed)
	if r.failed > 0 {
		return errFailed
	}
	return nil
}

// report counts the scenarios, and prints a line for each and all that differs.
type report struct {
	out            io.Writer
	passed, failed int
}

func (r *report) add(name string, failures ...string) {
	if len(failures) == 0 {
		r.passed++
		fmt.Fprintln(r.out, "pass", name)
		return
	}
	r.failed++
	fmt.Fprintln(r.out, "FAIL", name)
	for _, failure := range failures {
		fmt.Fprintln(r.out, "  "+strings.ReplaceAll(failure, "\n", "\n  "))
	}
}

// play reports the differences that the drivers find in each scenario.
func play(ctx context.Context, scenarios []*runner.Scenario, r *report) (err error) {
	suite, err := runner.NewSuite(ctx)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, suite.Close()) }()
	for _, scenario := range scenarios {
		var failures []string
		for _, driver := range suite.Drivers {
			for _, failure := range runner.Play(ctx, driver, scenario) {
				failures = append(failures, driver.Name()+": "+failure.String())
			}
		}
		if ctx.Err() != nil {
			return errors.New("interrupted")
		}
		r.add(scenario.Name, failures...)
	}
	return nil
}
