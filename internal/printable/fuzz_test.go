package printable

import (
	"strings"
	"testing"

	"github.com/gammaguard/gammaguard/test/hostile"
)

// FuzzText looks for what does not only show in a text as each kind of output has it.
func FuzzText(f *testing.F) {
	for _, text := range []string{"", "cart", hostile.Text, "::x", "--- x", "###[x", "x\xff", "\xe2\x86", "\u00a0::x"} {
		f.Add(text, uint8(1))
	}
	f.Fuzz(func(t *testing.T, text string, step uint8) {
		line := Text(text)
		for name, got := range map[string]string{"Text": line, "Shell": Shell(text), "Sprintf": Sprintf("%s", text), "Code": Code(text), "Cell": Cell(text), "Style": Text(string(Bold.Of(text)))} {
			if err := hostile.Check("text", got); err != nil || strings.ContainsAny(got, "\n\t") {
				t.Errorf("%s(%q): %q: %v", name, text, got, err)
			}
		}
		if again := Text(line); again != line {
			t.Errorf("Text of Text(%q) = %q, want %q", text, again, line)
		}
		if err := hostile.Check("markdown", "| "+Cell(text)+" | a | b |"); err != nil {
			t.Errorf("Cell(%q): %v", text, err)
		}
		var out strings.Builder
		w := NewWriter(&out, false)
		for rest := text; rest != ""; {
			part := rest[:min(int(step)+1, len(rest))]
			_, _ = w.Write([]byte(part))
			rest = rest[len(part):]
		}
		_ = w.Flush()
		if err := hostile.Check("text", out.String()); err != nil {
			t.Errorf("a Writer makes %q of %q: %v", out.String(), text, err)
		}
	})
}
