package grantpolicy_test

import (
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/gammaguard/gammaguard/config"
	"github.com/gammaguard/gammaguard/internal/grantpolicy"
)

// TestFile: config/policy/route_grants.yaml is what 'gammaguard policy' writes for the
// default configuration. make docs writes it.
func TestFile(t *testing.T) {
	want, err := grantpolicy.New(config.Default().Policy()).YAML()
	if err != nil {
		t.Fatal(err)
	}
	got, err := config.Manifests.ReadFile("policy/route_grants.yaml")
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(string(want), string(got)); diff != "" {
		t.Errorf("make docs writes it anew (-want +got):\n%s", diff)
	}
}
