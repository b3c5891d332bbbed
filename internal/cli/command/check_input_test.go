package command

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"golang.org/x/text/encoding/unicode"

	"github.com/gammaguard/gammaguard/internal/cli/report"
)

// TestCheckDuplicates: an object that is declared twice is a finding with both places,
// also if its text is the same, but not if its name is generated or it bears on no route.
func TestCheckDuplicates(t *testing.T) {
	folder := t.TempDir()
	const others = "---\n{apiVersion: v1, kind: ConfigMap, metadata: {name: a}}\n---\n{apiVersion: v1, kind: Service, metadata: {name: cart}, spec: {ports: [{port: 80}]}}\n" +
		"---\n{apiVersion: gateway.networking.k8s.io/v1, kind: HTTPRoute, metadata: {generateName: a}, spec: {}}\n"
	for name, text := range map[string]string{"a.yaml": orphan, "b.yaml": others + "---\n" + orphan, "c.yaml": others} {
		if err := os.WriteFile(filepath.Join(folder, name), []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	a, b, c := filepath.Join(folder, "a.yaml"), filepath.Join(folder, "b.yaml"), filepath.Join(folder, "c.yaml")
	want := []report.Duplicate{
		{Place: report.Place{File: b, Line: 8}, Object: "HTTPRoute default/a", First: report.Place{File: a, Line: 1}},
		{Place: report.Place{File: b, Line: 13}, Object: "GRPCRoute default/b", First: report.Place{File: a, Line: 6}},
		{Place: report.Place{File: c, Line: 4}, Object: "Service default/cart", First: report.Place{File: b, Line: 4}},
	}
	for name, args := range map[string][]string{"one set": {"-f", a, "-f", b, "-f", c}, "a folder": {folder}} {
		t.Run(name, func(t *testing.T) {
			r, got := checkJSON(t, "", append(args, "--fail-on", "warn")...)
			if diff := cmp.Diff(want, r.Duplicates); diff != "" || got.code != ExitFindings {
				t.Errorf("exit code %d, (-want +got)\n%s", got.code, diff)
			}
		})
	}
	got := run(t, "", "check", "-f", b, "-f", c).stdout
	golden(t, "duplicates.text", strings.ReplaceAll(got, folder, "manifests"))
}

// TestCheckAlternatives: of a folder of alternatives, the first objects that are declared again are listed, and the others are
// counted.
func TestCheckAlternatives(t *testing.T) {
	const service = "{apiVersion: v1, kind: Service, metadata: {name: NAME}, spec: {ports: [{port: 80}]}}\n"
	all := orphan
	for _, name := range []string{"cart", "b", "c", "d", "e", "f"} {
		all += "---\n" + strings.Replace(service, "NAME", name, 1)
	}
	got := runIn(t, written(t, map[string]string{"x/a.yaml": all, "x/b.yaml": all}), "check")
	const want = "note: x: 3 more objects are declared again; if its files are alternatives, name each as a set in .gammaguard.yaml\n"
	if strings.Count(got.stdout, "(object-duplicate)") != 5 || !strings.Contains(got.stdout, want) || !strings.Contains(got.stdout, ": 14 warnings, ") {
		t.Errorf("%+v", got)
	}
}

// TestCheckEncodings: a file in UTF-16, or with a byte order mark, is read like any other
// one, and --fix leaves the mark.
func TestCheckEncodings(t *testing.T) {
	const route = "apiVersion: gateway.networking.k8s.io/v1\nkind: HTTPRoute\nmetadata: {name: a}\nspec:\n  parentRefs:\n  - {kind: Service, name: cart}\n  rules: [{backendRefs: [{name: cart}]}]\n"
	encode := func(name string, order unicode.Endianness) (file string) {
		t.Helper()
		file = filepath.Join(t.TempDir(), name)
		encoding := unicode.UTF8BOM
		if name != "utf-8.yaml" {
			encoding = unicode.UTF16(order, unicode.UseBOM)
		}
		data, err := encoding.NewEncoder().Bytes([]byte(route))
		if err == nil {
			err = os.WriteFile(file, data, 0o600)
		}
		if err != nil {
			t.Fatal(err)
		}
		return file
	}
	utf8 := encode("utf-8.yaml", unicode.BigEndian)
	big, little := encode("big.yaml", unicode.BigEndian), encode("little.yaml", unicode.LittleEndian)
	for _, file := range []string{utf8, big, little} {
		r, _ := checkJSON(t, "", filepath.Dir(file))
		if len(r.Routes) != 1 || len(r.Broken) > 0 || len(r.Routes[0].Changes) == 0 || r.Routes[0].Changes[0].Line != 6 {
			t.Errorf("%s: %+v", filepath.Base(file), r)
		}
	}
	run(t, "", "check", "-f", utf8, "--fix")
	fixed, err := os.ReadFile(utf8)
	if err != nil {
		t.Fatal(err)
	}
	if want := "\ufeff" + strings.ReplaceAll(route, "{kind: Service, ", `{kind: Service, group: "", `); string(fixed) != want {
		t.Errorf("fixed: %q, want %q", fixed, want)
	}
	if got := run(t, "", "check", "-f", big, "--fix"); !strings.Contains(got.stdout, "not fixed  "+big+":6  HTTPRoute default/a  spec.parentRefs[0].group: the file is in UTF-16; convert it to UTF-8\n") {
		t.Errorf("UTF-16: %+v", got)
	}
}

// TestCheckReferenceWithoutName: of a reference without a name, only what the API server says is reported: nothing is looked
// up under an empty name.
func TestCheckReferenceWithoutName(t *testing.T) {
	t.Chdir(t.TempDir())
	const parent, backend = "{group: '', kind: Service, %s: cart, port: 80}", "{%s: cart, port: 80}"
	for _, names := range [][2]string{{"nam", "name"}, {"name", "nam"}} {
		put(t, "a.yaml", "apiVersion: v1\nkind: Namespace\nmetadata: {name: shop, labels: {gammaguard.dev/grant: all}}\n---\n"+
			"apiVersion: v1\nkind: Service\nmetadata: {name: cart, namespace: shop}\nspec: {ports: [{port: 80}]}\n---\n"+
			"apiVersion: gateway.networking.k8s.io/v1\nkind: HTTPRoute\nmetadata: {name: cart, namespace: shop}\nspec:\n  parentRefs: ["+
			fmt.Sprintf(parent, names[0])+"]\n  rules: [{backendRefs: ["+fmt.Sprintf(backend, names[1])+"]}]\n")
		for _, more := range []string{"", "--complete"} {
			got := run(t, "", strings.Fields("check -f a.yaml "+more)...)
			if got.code != ExitFindings || !strings.Contains(got.stdout, "(schema)") || strings.Contains(got.stdout, "-not-found)") || strings.Contains(got.stdout, "Service shop/ ") {
				t.Errorf("%s %s: %+v", names, more, got)
			}
		}
	}
}
