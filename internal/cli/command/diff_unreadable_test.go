package command

import (
	"os"
	"strings"
	"testing"
)

// TestDiffUnreadable: what a file holds that cannot be read is neither gone nor new: the directory is not compared, which is an error if it could be
// before.
func TestDiffUnreadable(t *testing.T) {
	const route = `{apiVersion: gateway.networking.k8s.io/v1, kind: HTTPRoute, metadata: {name: web, namespace: shop}, spec: {parentRefs: [{group: "", kind: Service, name: web, port: 80}], rules: [{backendRefs: [{name: web, port: 80}]}]}}
`
	files := map[string]string{
		"ns.yaml":    "{apiVersion: v1, kind: Namespace, metadata: {name: shop, labels: {gammaguard.dev/grant: producer}}}\n",
		"svc.yaml":   "{apiVersion: v1, kind: Service, metadata: {name: web, namespace: shop}, spec: {ports: [{port: 80}]}}\n",
		"route.yaml": route,
	}
	for file := range files {
		t.Run(file, func(t *testing.T) {
			t.Chdir(written(t, files))
			commit(t)
			if err := os.Remove(file); err != nil {
				t.Fatal(err)
			}
			if err := os.Symlink("../"+file, file); err != nil {
				t.Fatal(err)
			}
			want := "error: directory .: not compared: " + file + ": cannot be read: "
			if got := run(t, "", "diff", "--base-ref", "HEAD"); got.code != ExitUsage || !strings.HasPrefix(got.stderr, want) || !strings.Contains(got.stdout, "no change in what was compared; ") {
				t.Errorf("it can no longer be read: %+v", got)
			}
			commit(t)
			if err := os.Remove(file); err != nil {
				t.Fatal(err)
			}
			put(t, file, files[file])
			want = "note: directory . is not compared: the base cannot be read: HEAD:" + file + ": cannot be read: "
			if got := run(t, "", "diff", "--base-ref", "HEAD"); got.code != ExitClean || !strings.HasPrefix(got.stdout, want) || strings.Contains(got.stdout, os.TempDir()) {
				t.Errorf("it can be read again: %+v", got)
			}
		})
	}
}

// TestDiffFailed: what keeps all from being compared is in the comment too, in which an earlier one would stay.
func TestDiffFailed(t *testing.T) {
	t.Chdir(written(t, map[string]string{"web/web.yaml": orphan}))
	commit(t)
	put(t, ".gammaguard.yaml", projectHeader+"sets: [{files: [gone]}]\n")
	for format, want := range map[string]string{
		"text":     "",
		"json":     `"the input is not compared: .gammaguard.yaml:3: sets[0].files[0]: gone does not exist`,
		"markdown": "> `the input is not compared: .gammaguard.yaml:3: sets[0].files[0]: gone does not exist",
	} {
		got := run(t, "", "diff", "--base-ref", "HEAD", "-o", format)
		if got.code != ExitUsage || !strings.Contains(got.stdout, want) || (got.stdout == "") != (want == "") || !strings.HasPrefix(got.stderr, "error: .gammaguard.yaml:3: ") {
			t.Errorf("%s: %+v", format, got)
		}
	}
	put(t, ".gammaguard.yaml", projectHeader)
	put(t, "guard.yaml", "apiVersion: gammaguard.dev/v1alpha1\nkind: GuardConfiguration\nrules: {nope: warn}\n")
	want := "> `the input is not compared: configuration guard.yaml: rules[nope]: Unsupported value"
	if got := run(t, "", "diff", "--base-ref", "HEAD", "--config", "guard.yaml", "-o", "markdown"); got.code != ExitUsage || !strings.Contains(got.stdout, want) {
		t.Errorf("the configuration is broken: %+v", got)
	}
}

// TestDiffWithoutGit names the way on without it.
func TestDiffWithoutGit(t *testing.T) {
	t.Chdir(written(t, map[string]string{"web/web.yaml": orphan}))
	t.Setenv("PATH", "")
	const want = "error: reading a revision needs git, which is not in $PATH; without it, compare with another checkout of it\n"
	if got := run(t, "", "diff", "--base-ref", "HEAD"); got.code != ExitUsage || got.stderr != want {
		t.Errorf("%+v", got)
	}
}
