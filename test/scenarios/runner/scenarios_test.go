package runner_test

import (
	"context"
	"flag"
	"fmt"
	"os"
	"testing"

	"github.com/gammaguard/gammaguard/test/scenarios/runner"
)

// all is the directory of all scenarios.
const all = ".."

var (
	directory = flag.String("directory", all, "the directory of the scenarios that TestScenarios runs")
	suite     *runner.Suite
	// passed and failed count the scenarios that TestScenarios has run.
	passed, failed int
)

func TestMain(m *testing.M) {
	flag.Parse()
	code, err := run(m)
	if err != nil {
		fmt.Fprintln(os.Stderr, "error:", err)
		code = 2
	}
	os.Exit(code)
}

// run runs the tests. It is an error if there are no scenarios, or if what they need
// does not start.
func run(m *testing.M) (code int, err error) {
	if _, err := runner.Load(*directory); err != nil {
		return 0, err
	}
	if suite, err = runner.NewSuite(context.Background()); err != nil {
		return 0, err
	}
	code = m.Run()
	fmt.Printf("%d passed, %d failed\n", passed, failed)
	return code, suite.Close()
}

// load reads all scenarios; each must be in order.
func load(t *testing.T) []*runner.Scenario {
	t.Helper()
	scenarios, err := runner.Load(all)
	if err != nil {
		t.Fatal(err)
	}
	for _, scenario := range scenarios {
		if scenario.Mistakes != nil {
			t.Errorf("%s cannot be read:\n%v", scenario.Name, scenario.Mistakes)
		}
	}
	return scenarios
}

// TestScenarios plays each scenario by each driver.
func TestScenarios(t *testing.T) {
	scenarios, err := runner.Load(*directory)
	if err != nil {
		t.Fatal(err)
	}
	runner.Sort(scenarios)
	for _, scenario := range scenarios {
		count(t.Run(scenario.Name, func(t *testing.T) {
			if scenario.Mistakes != nil {
				t.Fatal(scenario.Mistakes)
			}
			for _, driver := range suite.Drivers {
				t.Run(driver.Name(), func(t *testing.T) {
					for _, failure := range runner.Play(t.Context(), driver, scenario) {
						t.Error(failure)
					}
				})
			}
		}))
	}
}

func count(pass bool) {
	if pass {
		passed++
	} else {
		failed++
	}
}

// TestEveryRule holds the scenarios to the catalogs.
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
