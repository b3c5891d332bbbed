// Package scenarios_test plays all scenarios of this folder.
package scenarios_test

import (
	"context"
	"fmt"
	"os"
	"testing"

	"github.com/gammaguard/gammaguard/test/scenarios/runner"
)

var suite *runner.Suite

func TestMain(m *testing.M) { os.Exit(run(m)) }

func run(m *testing.M) (code int) {
	var err error
	if suite, err = runner.NewSuite(context.Background()); err != nil {
		fmt.Fprintln(os.Stderr, "error:", err)
		return 1
	}
	defer func() {
		if err := suite.Close(); err != nil {
			fmt.Fprintln(os.Stderr, "error:", err)
			code = 1
		}
	}()
	return m.Run()
}

// load reads all scenarios; each must be in order.
func load(t *testing.T) []*runner.Scenario {
	t.Helper()
	scenarios, broken, err := runner.Load(".")
	if err != nil {
		t.Fatal(err)
	}
	for _, b := range broken {
		t.Errorf("%s cannot be read:\n%v", b.Name, b.Err)
	}
	return scenarios
}

// TestScenarios plays each scenario by each driver.
func TestScenarios(t *testing.T) {
	scenarios := load(t)
	runner.Sort(scenarios)
	for _, scenario := range scenarios {
		t.Run(scenario.Name, func(t *testing.T) {
			for _, driver := range suite.Drivers {
				t.Run(driver.Name(), func(t *testing.T) {
					for _, failure := range runner.Play(t.Context(), driver, scenario) {
						t.Error(failure)
					}
				})
			}
		})
	}
}

// TestEveryRule holds the scenarios to the catalogues.
func TestEveryRule(t *testing.T) {
	for _, lack := range lacks(load(t)) {
		t.Error(lack)
	}
}

// TestTitles demands of each scenario to say what it shows.
func TestTitles(t *testing.T) {
	for _, scenario := range load(t) {
		if scenario.Title() == "" {
			t.Errorf("%s has no title above its first file", scenario.Path)
		}
	}
}
