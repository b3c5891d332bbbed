package command

import (
	"os"
	"path/filepath"
	"testing"

	"github.com/gammaguard/gammaguard/test/hostile"
)

// FuzzPrintable puts a name and a value wherever manifests have one, and looks in what the
// commands for files print, in each format, for what does not only show.
func FuzzPrintable(f *testing.F) {
	f.Add("shop", "cart", "v1")
	f.Add(hostile.Text, hostile.Text, hostile.Text)
	f.Add("shop", "::add-mask::x", "##[group]")
	f.Add("--all", "-n", "$(touch pasted)")
	f.Add("a/b", "x\xff", "\x1b")
	f.Add("shop", "`", "``'\\|\\")
	f.Add("shop", "c", "[a-\u202e]+(x|\n)")
	f.Fuzz(func(t *testing.T, namespace, name, value string) {
		folder := t.TempDir()
		for file, text := range map[string]string{
			"before.yaml": hostile.Manifests(namespace, name, "v"), "after.yaml": hostile.Manifests(namespace, name, value),
		} {
			if err := os.WriteFile(filepath.Join(folder, file), []byte(text), 0o600); err != nil {
				t.Fatal(err)
			}
		}
		after, before := filepath.Join(folder, "after.yaml"), filepath.Join(folder, "before.yaml")
		request := []string{"trace", "service/cart:80", "-n", namespace, "--method", "POST", "-f", after, "--complete"}
		for format, commands := range map[string][][]string{
			"text":     {{"check", "-f", after}, {"check", "-f", after, "--complete", "--mesh", "istio"}, {"diff", "--base", before, "-f", after}, request},
			"json":     {{"check", "-f", after}, {"diff", "--base", before, "-f", after}, {"conflicts", "-f", after}, request},
			"sarif":    {{"check", "-f", after}},
			"junit":    {{"check", "-f", after}},
			"github":   {{"check", "-f", after}},
			"gitlab":   {{"check", "-f", after}},
			"markdown": {{"diff", "--base", before, "-f", after}},
			"wide":     {{"conflicts", "-f", after}},
			"yaml":     {{"conflicts", "-f", after}},
			"mermaid":  {{"graph", "-f", after}},
			"dot":      {{"graph", "-f", after}},
			"html":     {{"graph", "-f", after}},
		} {
			for _, args := range commands {
				got := run(t, "", append(args, "-o", format)...)
				if err := hostile.Check(format, got.stdout); err != nil {
					t.Errorf("%q: %v", args, err)
				}
				if err := hostile.Check("text", got.stderr); err != nil {
					t.Errorf("%q: stderr: %v", args, err)
				}
			}
		}
	})
}
