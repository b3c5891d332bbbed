package build

import (
	"context"
	"errors"
	"fmt"
	"net"
	"net/http"
	"net/http/httptest"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/gammaguard/gammaguard/internal/cli/repository"
)

func TestMain(m *testing.M) {
	Main()
	if os.Getenv("TRY_TO_LEAVE") != "" {
		confine()
		os.Exit(leave())
	}
	os.Exit(m.Run())
}

// leave tries what confine refuses, and returns how much of it worked.
func leave() (worked int) {
	if exec.CommandContext(context.Background(), "/bin/true").Run() == nil { //nolint:gosec // it is fixed
		worked++
	}
	if _, err := net.Listen("tcp", "127.0.0.1:0"); err == nil { //nolint:noctx // it fails at once
		worked++
	}
	if _, err := os.ReadFile("/etc/hostname"); err == nil {
		worked++
	}
	if err := os.WriteFile(filepath.Join(os.TempDir(), "gammaguard-left"), nil, 0o600); err == nil {
		worked++
	}
	return worked
}

// TestConfine: whatever code runs in a builder starts nothing, connects to nobody, and opens no file.
func TestConfine(t *testing.T) {
	if runtime.GOOS != "linux" || runtime.GOARCH != "amd64" && runtime.GOARCH != "arm64" {
		t.Skip("the kernel's filter is for Linux on amd64 and arm64")
	}
	cmd := exec.CommandContext(t.Context(), os.Args[0])
	cmd.Env = []string{"TRY_TO_LEAVE=1"}
	if err := cmd.Run(); err != nil {
		t.Errorf("%v: as many things worked", err)
	}
}

// disk are the files below a folder.
type disk struct{ *repository.Files }

func (d disk) ReadFile(path string) ([]byte, error) { return d.Read(path) }

// folder makes a folder of files.
func folder(t *testing.T, files map[string]string) string {
	t.Helper()
	root := t.TempDir()
	for name, text := range files {
		path := filepath.Join(root, filepath.FromSlash(name))
		if err := errors.Join(os.MkdirAll(filepath.Dir(path), 0o750), os.WriteFile(path, []byte(text), 0o600)); err != nil {
			t.Fatal(err)
		}
	}
	return root
}

func builder(t *testing.T, root string, limit time.Duration) *Builder {
	t.Helper()
	b := New(disk{repository.New("", root)}, false, limit)
	t.Cleanup(b.Close)
	return b
}

// TestBackstop: kustomize is run on what it should never see, and neither runs git nor
// connects.
func TestBackstop(t *testing.T) {
	var heard atomic.Int32
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		heard.Add(1)
		_, _ = w.Write([]byte("apiVersion: v1\nkind: ConfigMap\nmetadata: {name: a}\n"))
	}))
	defer server.Close()
	marker := filepath.Join(t.TempDir(), "ran")
	for name, text := range map[string]string{
		"exec":           "resources: ['file:///nowhere.git?ref=--upload-pack=touch " + marker + "%3Bfalse']\n",
		"component":      "components: ['file:///nowhere.git?ref=--upload-pack=touch " + marker + "%3Bfalse']\n",
		"resource":       "resources: ['URL/a.yaml']\n",
		"git over HTTP":  "resources: ['URL/a//b?ref=main']\n",
		"scp":            "resources: ['git@127.0.0.1:a/b']\n",
		"generated":      "configMapGenerator: [{name: a, files: ['a=URL/a']}]\n",
		"environment":    "configMapGenerator: [{name: a, envs: ['URL/a']}]\n",
		"secret":         "secretGenerator: [{name: a, files: ['URL/a']}]\n",
		"CRD":            "crds: ['URL/a']\n",
		"openapi":        "openapi: {path: 'URL/a'}\n",
		"configuration":  "configurations: ['URL/a']\n",
		"generator":      "generators: ['URL/a']\n",
		"transformer":    "transformers: ['URL/a']\n",
		"validator":      "validators: ['URL/a']\n",
		"patch":          "resources: [a.yaml]\npatches: [{path: 'URL/a', target: {kind: ConfigMap}}]\n",
		"old patch":      "resources: [a.yaml]\npatchesStrategicMerge: ['URL/a']\n",
		"JSON patch":     "resources: [a.yaml]\npatchesJson6902: [{path: 'URL/a', target: {version: v1, kind: ConfigMap, name: a}}]\n",
		"replacement":    "resources: [a.yaml]\nreplacements: [{path: 'URL/a'}]\n",
		"base":           "bases: ['URL/a']\n",
		"other case":     "Resources: ['URL/a.yaml']\n",
		"anchor":         "x: &x ['URL/a.yaml']\nresources: *x\n",
		"plugin":         "generators: [generator.yaml]\n",
		"inline plugin":  "generators: [\"apiVersion: builtin\\nkind: ConfigMapGenerator\\nmetadata: {name: a}\\nfiles: ['URL/a']\\n\"]\n",
		"folder of them": "generators: [plugins]\n",
	} {
		t.Run(name, func(t *testing.T) {
			at := func(text string) string { return strings.ReplaceAll(text, "URL", server.URL) }
			plugin := at("apiVersion: builtin\nkind: ConfigMapGenerator\nmetadata: {name: a}\nfiles: ['URL/a']\n")
			root := folder(t, map[string]string{
				"kustomization.yaml": at(text), "a.yaml": "apiVersion: v1\nkind: ConfigMap\nmetadata: {name: a}\n",
				"generator.yaml": plugin, "plugins/kustomization.yaml": "resources: [a.yaml]\n", "plugins/a.yaml": plugin,
			})
			b := builder(t, root, 0)
			_, err := b.Kustomize(t.Context(), root, filepath.Join(root, "kustomization.yaml"))
			failed := (*Error)(nil)
			if !errors.As(err, &failed) || !failed.Remote && name != "anchor" {
				t.Errorf("%v", err)
			}
			if remote := FindRemote(repository.Read, root); remote == nil || remote.Line == 0 {
				t.Errorf("not refused before: %v", remote)
			}
		})
	}
	if _, err := os.Stat(marker); err == nil || heard.Load() > 0 {
		t.Errorf("%v; %d requests", err, heard.Load())
	}
}

// TestLocal: what only looks remote is not refused.
func TestLocal(t *testing.T) {
	root := folder(t, map[string]string{
		"kustomization.yaml": `resources: [a.yaml, me@home.yaml, base]
commonAnnotations: {path: https://example.com, files: git@example.com}
configMapGenerator: [{name: b, literals: [url=https://example.com], options: {annotations: {repo: https://example.com}}}]
patches: [{target: {kind: ConfigMap}, patch: "- {op: add, path: /data, value: {repo: https://example.com}}"}]
patchesStrategicMerge: ["{apiVersion: v1, kind: ConfigMap, metadata: {name: a}, data: {path: https://example.com}}"]
`,
		"a.yaml":                  "apiVersion: v1\nkind: ConfigMap\nmetadata: {name: a}\ndata: {path: https://example.com}\n",
		"me@home.yaml":            "apiVersion: v1\nkind: ConfigMap\nmetadata: {name: c}\n",
		"base/kustomization.yaml": "namePrefix: x-\nresources: [d.yaml]\n",
		"base/d.yaml":             "apiVersion: v1\nkind: ConfigMap\nmetadata: {name: d, annotations: {files: https://example.com}}\n",
	})
	if remote := FindRemote(repository.Read, root); remote != nil {
		t.Error(remote)
	}
	resources, err := builder(t, root, 0).Kustomize(t.Context(), root, filepath.Join(root, "kustomization.yaml"))
	var origins []string
	for i := range resources {
		origins = append(origins, resources[i].Origin)
	}
	if got := strings.Join(origins, " "); err != nil || got != "a.yaml me@home.yaml base/d.yaml " {
		t.Errorf("%q: %v", got, err)
	}
}

// TestBounds: a template takes neither more memory nor more time than it may, and the next chart is
// rendered all the same.
func TestBounds(t *testing.T) {
	b := builder(t, t.TempDir(), 0)
	chart := func(template string) *Chart {
		return &Chart{Files: []File{{"Chart.yaml", []byte("apiVersion: v2\nname: a\nversion: 1.0.0\n")}, {"templates/a.yaml", []byte(template)}}}
	}
	for template, want := range map[string]string{
		`{{ repeat 2000000000 "a" }}`: "building takes ",
		`{{ until 2000000000 }}`:      "building takes ",
		`{{ range until 10000 }}{{ range until 10000 }}{{ range until 10000 }}{{ end }}{{ end }}{{ end }}`:                  "building takes longer than",
		`{{ range until 100 }}{{ repeat 1000000 "a" }}{{ end }}`:                                                            "the result is larger than 64 MiB",
		`{{ $a := "a" }}{{ range until 40 }}{{ $a = print $a $a }}{{ end }}`:                                                "building takes ",
		`{{ define "a" }}{{ include "a" . }}{{ end }}{{ include "a" . }}`:                                                   "rendering template has a nested reference name",
		`{{ getHostByName "localhost" }}{{ (lookup "v1" "Secret" "a" "b") }}{{ .Files.Get "/etc/hostname" }}{{ fail "x" }}`: "x",
	} {
		if b.limit = DefaultLimit; strings.Contains(want, "longer") {
			b.limit = 3 * time.Second
		}
		_, _, err := b.Render(t.Context(), chart(template))
		if err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: %v", template, err)
		}
		b.limit = DefaultLimit
		rendered, _, err := b.Render(t.Context(), chart("a: {{ .Chart.Name }}"))
		if err != nil || rendered["templates/a.yaml"] != (Rendered{Text: "a: a", File: "templates/a.yaml"}) {
			t.Errorf("after it: %v: %v", rendered, err)
		}
	}
}

// TestLimitShrinks: many sets that take too long do not each take as long.
func TestLimitShrinks(t *testing.T) {
	b := builder(t, t.TempDir(), 2*time.Second)
	endless := &Chart{Files: []File{
		{"Chart.yaml", []byte("apiVersion: v2\nname: a\nversion: 1.0.0\n")},
		{"templates/a.yaml", []byte(`{{ range until 10000 }}{{ range until 10000 }}{{ range until 10000 }}{{ end }}{{ end }}{{ end }}`)},
	}}
	for _, want := range []time.Duration{2 * time.Second, time.Second, time.Second} {
		if _, _, err := b.Render(t.Context(), endless); err == nil || !strings.Contains(err.Error(), fmt.Sprint("longer than ", want)) {
			t.Error(err)
		}
	}
}

// TestInterrupted: the process ends with its context.
func TestInterrupted(t *testing.T) {
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	b := builder(t, t.TempDir(), 0)
	if _, _, err := b.Render(ctx, &Chart{}); !errors.Is(err, context.Canceled) || b.process != nil {
		t.Error(err)
	}
}
