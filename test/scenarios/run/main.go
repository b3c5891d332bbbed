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
	passed, failed := 0, 0
	report := func(result *runner.Result) {
		printResult(out, result)
		if result.Passed() {
			passed++
		} else {
			failed++
		}
	}
	for _, b := range broken {
		report(&runner.Result{Name: b.Name, Broken: b.Err})
	}
	if len(scenarios) > 0 {
		if err := play(ctx, scenarios, report); err != nil {
			return err
		}
	}
	fmt.Fprintf(out, "%d passed, %d failed\n", passed, failed)
	if failed > 0 {
		return errFailed
	}
	return nil
}

// play reports what comes of each scenario.
func play(ctx context.Context, scenarios []*runner.Scenario, report func(*runner.Result)) (err error) {
	suite, err := runner.NewSuite(ctx)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, suite.Close()) }()
	for _, scenario := range scenarios {
		result, err := suite.Play(ctx, scenario)
		if err != nil {
			return err
		}
		report(result)
	}
	return nil
}

// printResult prints a line, and of a failure all differences.
func printResult(out io.Writer, result *runner.Result) {
	if result.Passed() {
		fmt.Fprintln(out, "pass", result.Name)
		return
	}
	fmt.Fprintln(out, "FAIL", result.Name)
	if result.Broken != nil {
		fmt.Fprintln(out, indent(result.Broken.Error()))
	}
	for _, driver := range []string{"core", "handlers", "apiserver"} {
		for _, failure := range result.Failures[driver] {
			fmt.Fprintln(out, indent(driver+": "+failure.String()))
		}
	}
}

func indent(text string) string { return "  " + strings.ReplaceAll(text, "\n", "\n  ") }
