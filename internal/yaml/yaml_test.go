package yaml_test

import (
	"cmp"
	"fmt"
	"strings"
	"testing"

	"golang.org/x/text/encoding/unicode"

	"github.com/gammaguard/gammaguard/internal/yaml"
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
			err := yaml.Check([]byte(test.text))
			if (err != nil) != test.refused {
				t.Errorf("Check() = %v", err)
			}
		})
	}
}

// TestBounds: a text that would cost a parser too much is refused by each function that parses, before it is
// parsed. The bounds are on directives, which a parser compares with each other, and on values.
func TestBounds(t *testing.T) {
	tags := func(n int, end string) string {
		var text strings.Builder
		for i := range n {
			fmt.Fprintf(&text, "%%TAG !%x! b%s", i, end)
		}
		return text.String() + "---" + end + "a: b" + end
	}
	utf16, err := unicode.UTF16(unicode.LittleEndian, unicode.UseBOM).NewEncoder().String(tags(17, "\n"))
	if err != nil {
		t.Fatal(err)
	}
	const directives, values = "more than 16 directives", "more than 2097152 values"
	for name, test := range map[string]struct{ text, want string }{
		"few directives":      {tags(16, "\n"), ""},
		"in each document":    {strings.Repeat("%YAML 1.1\n---\na: b\n...\n", 20), ""},
		"in a text":           {"a: |\n" + strings.Repeat("  % x\n", 20), ""},
		"many directives":     {tags(17, "\n"), directives},
		"with comments":       {tags(9, "\n# x\n\n") + "...\n" + tags(17, "\n\n"), directives},
		"with returns":        {tags(17, "\r"), directives},
		"with next lines":     {tags(17, "\u0085"), directives},
		"with separators":     {tags(17, "\u2028") + tags(17, "\u2029"), directives},
		"with a mark":         {"\ufeff" + tags(17, "\n"), directives},
		"in UTF-16":           {utf16, directives},
		"no document":         {strings.Repeat("%TAG !x! b\n", 9) + "---x\n" + tags(9, "\n"), directives},
		"many values":         {"[" + strings.Repeat("a,", 100_000) + "]", ""},
		"too many":            {"[" + strings.Repeat("a,", 2<<20) + "]", values},
		"too many lists":      {strings.Repeat("[", 2<<20), values},
		"too many items":      {strings.Repeat("-\n", 2<<20), values},
		"too many keys":       {strings.Repeat("? ", 2<<20), values},
		"too many mappings":   {"[" + strings.Repeat("{},", 1<<20) + "]", values},
		"too many, in quotes": {strings.Repeat("\"a\":b\n", 2<<20), values},
	} {
		t.Run(name, func(t *testing.T) {
			text := []byte(test.text)
			_, inJSON := yaml.ToJSON(text)
			_, strictly := yaml.ToJSONStrict(text)
			_, documents := yaml.Documents(text)
			for function, err := range map[string]error{
				"Check": yaml.Check(text), "Unmarshal": yaml.Unmarshal(text, new(yaml.Node)), "Documents": documents, "ToJSON": inJSON, "ToJSONStrict": strictly,
			} {
				if refused := err != nil && strings.Contains(err.Error(), cmp.Or(test.want, "more than")); refused != (test.want != "") {
					t.Errorf("%s: %v, want %q", function, err, test.want)
				}
			}
		})
	}
}
