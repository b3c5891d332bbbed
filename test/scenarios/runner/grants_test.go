package runner_test

import (
	"testing"

	"github.com/gammaguard/gammaguard/test/scenarios/runner"
)

// TestPolicies plays all scenarios about grants without gammaguard, with what 'gammaguard
// policy' writes for their configurations: grants are decided as they say.
func TestPolicies(t *testing.T) {
	policies, err := runner.NewPolicies(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	defer func() {
		if err := policies.Close(); err != nil {
			t.Error(err)
		}
	}()
	scenarios := load(t)
	runner.Sort(scenarios)
	played, verdicts := 0, 0
	for _, scenario := range scenarios {
		if !runner.AboutGrants(scenario) {
			continue
		}
		t.Run(scenario.Name, func(t *testing.T) {
			failures, compared, err := policies.Play(t.Context(), scenario)
			if err != nil {
				t.Fatal(err)
			}
			for _, failure := range failures {
				t.Error(failure)
			}
			played, verdicts = played+1, verdicts+compared
		})
	}
	if t.Logf("%d scenarios, %d verdicts", played, verdicts); played < 60 || verdicts < 120 {
		t.Errorf("only %d scenarios with %d verdicts", played, verdicts)
	}
}
