package manifest_test

import (
	"strings"
	"testing"

	"github.com/gammaguard/gammaguard/mesh/manifest"
)

func TestAliases(t *testing.T) {
	long := "x: &a " + strings.Repeat("y", 100_000) + "\n"
	for name, test := range map[string]struct {
		text    string
		refused bool
	}{
		"few aliases":     {text: long + "z: [*a, *a]\n"},
		"no alias":        {text: long + "z: '*a'\n"},
		"many aliases":    {long + "z: [" + strings.Repeat("*a, ", 200) + "]\n", true},
		"aliased aliases": {long + "b: &b [" + strings.Repeat("*a, ", 20) + "]\nz: [" + strings.Repeat("*b, ", 20) + "]\n", true},
		"merged":          {"x: &a {k: " + strings.Repeat("y", 100_000) + "}\nz: [" + strings.Repeat("{<<: *a}, ", 200) + "]\n", true},
		"in itself":       {text: "x: &a [*a, *a]\n"},
	} {
		t.Run(name, func(t *testing.T) {
			err := manifest.CheckAliases([]byte(test.text))
			if (err != nil) != test.refused {
				t.Errorf("CheckAliases() = %v", err)
			}
			_, errs := manifest.Read("f.yaml", []byte(test.text+"---\nkind: Service\napiVersion: v1\nmetadata: {name: s}\n"), "")
			if found := strings.Contains(errors(errs), "aliases expand to more than 16 MiB"); found != test.refused {
				t.Errorf("Read(): %v", errs)
			}
		})
	}
}

func errors(errs []error) string {
	var b strings.Builder
	for _, err := range errs {
		b.WriteString(err.Error())
	}
	return b.String()
}
