// Command gen writes the pages of docs/ that come from the program itself: one for
// each rule and mutation, with scenarios as examples, the references of the command
// line and of the metrics, the values of the chart, and the statements of the specification;
// and the policies of the default configuration. Its argument is the root of the
// repository.
package main

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"

	"github.com/gammaguard/gammaguard/config"
	"github.com/gammaguard/gammaguard/internal/grantpolicy"
	"github.com/gammaguard/gammaguard/test/scenarios/runner"
)

func main() {
	if len(os.Args) != 2 {
		fmt.Fprintln(os.Stderr, "usage: gen ROOT")
		os.Exit(2)
	}
	if err := run(context.Background(), os.Args[1]); err != nil {
		fmt.Fprintln(os.Stderr, "error:", err)
		os.Exit(1)
	}
}

func run(ctx context.Context, root string) error {
	examples, err := loadExamples(ctx, filepath.Join(root, "test", "scenarios"))
	if err != nil {
		return err
	}
	return errors.Join(
		write(filepath.Join(root, "docs", "rules"), "", rulePages(examples)),
		writeCLI(filepath.Join(root, "docs", "cli")),
		writeValues(root),
		writeMetrics(filepath.Join(root, "docs", "metrics.md")),
		writePolicies(filepath.Join(root, "config", "policy", "route_grants.yaml")),
		writeSpecification(filepath.Join(root, "docs"), scenariosOf(examples)),
	)
}

func scenariosOf(examples []*example) []*runner.Scenario {
	scenarios := make([]*runner.Scenario, len(examples))
	for i, e := range examples {
		scenarios[i] = e.scenario
	}
	return scenarios
}

// writePolicies writes the policies of the default configuration.
func writePolicies(path string) error {
	text, err := grantpolicy.New(config.Default().Policy()).YAML()
	if err != nil {
		return err
	}
	return os.WriteFile(path, text, 0o644)
}

// write makes the folder's pages with the prefix be exactly those given.
func write(folder, prefix string, pages map[string]string) error {
	if err := os.MkdirAll(folder, 0o755); err != nil {
		return err
	}
	present, err := os.ReadDir(folder)
	if err != nil {
		return err
	}
	for _, entry := range present {
		name := entry.Name()
		if _, wanted := pages[name]; !wanted && strings.HasPrefix(name, prefix) && filepath.Ext(name) == ".md" {
			if err := os.Remove(filepath.Join(folder, name)); err != nil {
				return err
			}
		}
	}
	for name, text := range pages {
		if err := os.WriteFile(filepath.Join(folder, name), []byte(text), 0o644); err != nil {
			return err
		}
	}
	return nil
}
