package cluster

import "testing"

// TestVersionCheck: versions as clusters report them.
func TestVersionCheck(t *testing.T) {
	for served, want := range map[string]Check{
		"v1.36.3":             {Result: OK, Details: "v1.36.3"},
		"v1.30.0-gke.1200":    {Result: OK, Details: "v1.30.0-gke.1200"},
		"v1.31.2+k3s1":        {Result: OK, Details: "v1.31.2+k3s1"},
		"v1.29.14-eks-a18cd3": {Result: Fail, Details: "v1.29.14-eks-a18cd3: gammaguard needs 1.30 or newer"},
		"unversioned":         {Result: Unclear, Details: `the API server reports "unversioned"`},
	} {
		want.Name = "Kubernetes version"
		if got := versionCheck(served); got != want {
			t.Errorf("got %+v, want %+v", got, want)
		}
	}
}
