package config

import (
	"strings"
	"testing"
)

// FuzzLoad: whatever is in the file, there is a usable configuration or an error
// in one line.
func FuzzLoad(f *testing.F) {
	for _, seed := range []string{
		"", header, full, header + "---\n" + header, header + "rules: {a: &x [*x]}\n", header + "mutations: {backend-port: [off]}\n",
		header + "grants: {selectors: [{namespaceSelector: {matchExpressions: [{key: a, operator: Exists}]}, roles: [consumer]}]}\n",
		"{", "\x00", "- " + header, header + "status: {controllerName: " + strings.Repeat("a", 300) + "}\n",
	} {
		f.Add([]byte(seed))
	}
	f.Fuzz(func(t *testing.T, data []byte) {
		c, err := Load(data)
		if err != nil {
			if strings.Contains(err.Error(), "\n") {
				t.Errorf("error of several lines: %q", err)
			}
			return
		}
		if errs := c.validate(); len(errs) > 0 {
			t.Errorf("loaded, but: %v", errs)
		}
		c.Policy()
	})
}
