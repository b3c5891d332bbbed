package main

import (
	"archive/tar"
	"archive/zip"
	"bytes"
	"compress/gzip"
	"encoding/json"
	"io"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/sigstore/sigstore/pkg/signature"
	"sigs.k8s.io/yaml"
)

// made makes a release of this test's own binary, as each program on each platform, and
// returns its files.
func made(t *testing.T) map[string][]byte {
	t.Helper()
	_, files := madeBy(t, nil)
	return files
}

// madeBy makes a release with signatures, and returns its folder, too.
func madeBy(t *testing.T, by signature.SignerVerifier) (folder string, files map[string][]byte) {
	t.Helper()
	r := release{
		signer: by, date: "2026-11-23T00:00:00Z", builder: "https://example.test/builder",
		version: "v1.2.3", revision: "beef", image: "registry.test/team/gammaguard-webhook", downloads: "https://example.test/v1.2.3/",
		root: "../..", built: t.TempDir(), out: filepath.Join(t.TempDir(), "release"),
	}
	program, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	data, err := os.ReadFile(program)
	if err != nil {
		t.Fatal(err)
	}
	for _, p := range []platform{{"linux", "amd64"}, {"linux", "arm64"}, {"darwin", "arm64"}, {"windows", "amd64"}} {
		if err := os.MkdirAll(filepath.Join(r.built, p.String()), 0o700); err != nil {
			t.Fatal(err)
		}
		for _, name := range []string{webhook, cli} {
			if name == webhook && p.os != "linux" {
				continue
			}
			if err := os.WriteFile(r.binary(name, p), data, 0o600); err != nil {
				t.Fatal(err)
			}
		}
	}
	if err := os.MkdirAll(r.out, 0o700); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(filepath.Join(r.out, "of the last release"), nil, 0o600); err != nil {
		t.Fatal(err)
	}
	final := r.out
	if err := r.make(); err != nil {
		t.Fatal(err)
	}
	files = map[string][]byte{}
	entries, err := os.ReadDir(final)
	if err != nil {
		t.Fatal(err)
	}
	for _, entry := range entries {
		if files[entry.Name()], err = os.ReadFile(filepath.Join(final, entry.Name())); err != nil {
			t.Fatal(err)
		}
	}
	return final, files
}

// TestRelease makes a release twice: it has all files, and they are the same.
func TestRelease(t *testing.T) {
	files, again := made(t), made(t)
	var names []string
	for name, data := range files {
		names = append(names, name)
		if !bytes.Equal(data, again[name]) {
			t.Errorf("%s differs from one run to the next", name)
		}
	}
	slices.Sort(names)
	want := []string{
		"RELEASE_NOTES.md", "checksums.txt", "gammaguard-1.2.3.tgz", "gammaguard-v1.2.3-darwin-arm64.tar.gz", "gammaguard-v1.2.3-image.tar",
		"gammaguard-v1.2.3-linux-amd64.tar.gz", "gammaguard-v1.2.3-linux-arm64.tar.gz", "gammaguard-v1.2.3-sbom.cdx.json",
		"gammaguard-v1.2.3-windows-amd64.zip", "gammaguard-v1.2.3.openvex.json", "gammaguard-webhook-v1.2.3-image.tar", "gammaguard-webhook-v1.2.3-sbom.cdx.json",
		"install-audit-only.yaml", "install-default.yaml", "install-gitops.yaml", "install-policies.yaml", "install-self-managed.yaml", "krew-gammaguard.yaml", "provenance.intoto.json",
	}
	if !slices.Equal(names, want) {
		t.Errorf("got  %q\nwant %q", names, want)
	}
	t.Run("checksums", func(t *testing.T) { testChecksums(t, files) })
	t.Run("archives", func(t *testing.T) { testArchives(t, files) })
	t.Run("manifests", func(t *testing.T) { testManifests(t, files) })
	t.Run("chart", func(t *testing.T) { testChart(t, files["gammaguard-1.2.3.tgz"]) })
	t.Run("SBOM", func(t *testing.T) { testSBOM(t, files) })
	t.Run("krew", func(t *testing.T) { testKrew(t, files) })
	if notes := string(files["RELEASE_NOTES.md"]); !strings.HasPrefix(notes, "# v1.2.3\n\n### ") {
		t.Errorf("release notes: %.200s", notes)
	}
}

func testChecksums(t *testing.T, files map[string][]byte) {
	files = maps.Clone(files)
	for line := range strings.Lines(string(files["checksums.txt"])) {
		fields := strings.Fields(line)
		path := filepath.Join(t.TempDir(), fields[1])
		if err := os.WriteFile(path, files[fields[1]], 0o600); err != nil {
			t.Fatal(err)
		}
		if sum, err := sha256Of(path); err != nil || sum != fields[0] {
			t.Errorf("%s: %s, %v, want %s", fields[1], sum, err, fields[0])
		}
		delete(files, fields[1])
	}
	if len(files) != 1 {
		t.Errorf("%d files have no checksum", len(files)-1)
	}
}

// testArchives looks for the program, which can be run, in each archive.
func testArchives(t *testing.T, files map[string][]byte) {
	files = map[string][]byte{
		"gammaguard":     files["gammaguard-v1.2.3-linux-arm64.tar.gz"],
		"gammaguard.exe": files["gammaguard-v1.2.3-windows-amd64.zip"],
	}
	modes := map[string]int64{}
	untar(t, files["gammaguard"], func(header *tar.Header, _ string) { modes[header.Name] = header.Mode })
	if len(modes) != 2 || modes["gammaguard"] != 0o755 || modes["LICENSE"] != 0o644 {
		t.Errorf("for Linux: %v", modes)
	}
	z, err := zip.NewReader(bytes.NewReader(files["gammaguard.exe"]), int64(len(files["gammaguard.exe"])))
	if err != nil {
		t.Fatal(err)
	}
	if len(z.File) != 2 || z.File[1].Name != "gammaguard.exe" || z.File[1].Mode() != 0o755 {
		t.Errorf("for Windows: %d files, %v", len(z.File), z.File[len(z.File)-1])
	}
}

// untar calls visit with each file of an archive, and its content.
func untar(t *testing.T, archive []byte, visit func(*tar.Header, string)) {
	t.Helper()
	unzipped, err := gzip.NewReader(bytes.NewReader(archive))
	if err != nil {
		t.Fatal(err)
	}
	r := tar.NewReader(unzipped)
	for header, err := r.Next(); err == nil; header, err = r.Next() {
		content, err := io.ReadAll(r)
		if err != nil {
			t.Fatal(err)
		}
		visit(header, string(content))
	}
}

// testChart looks for the version and the image in the chart. That Helm takes it is
// tested in test/chart and test/install.
func testChart(t *testing.T, archive []byte) {
	want := map[string]string{
		"gammaguard/Chart.yaml":                "version: \"1.2.3\"\nappVersion: \"v1.2.3\"\n",
		"gammaguard/values.yaml":               "repository: \"registry.test/team/gammaguard-webhook\"\n  # Tag of the image.\n  tag: \"v1.2.3\"\n",
		"gammaguard/values.schema.json":        `"$schema"`,
		"gammaguard/templates/deployment.yaml": "kind: Deployment\n",
		"gammaguard/files/rules.yaml":          "kind: PrometheusRule\n",
	}
	untar(t, archive, func(header *tar.Header, content string) {
		if text, ok := want[header.Name]; ok && strings.Contains(content, text) {
			delete(want, header.Name)
		}
	})
	if len(want) > 0 {
		t.Errorf("missing: %q", want)
	}
}

func testManifests(t *testing.T, files map[string][]byte) {
	for name, text := range files {
		if !strings.HasPrefix(name, "install-") {
			continue
		}
		images := 0
		for document := range strings.SplitSeq(string(text), "\n---\n") {
			var object struct {
				Kind string `json:"kind"`
				Spec struct {
					Template struct {
						Spec struct {
							Containers []struct {
								Image string `json:"image"`
							} `json:"containers"`
						} `json:"spec"`
					} `json:"template"`
				} `json:"spec"`
			}
			if err := yaml.Unmarshal([]byte(document), &object); err != nil || object.Kind == "" {
				t.Errorf("%s: %v: %.200s", name, err, document)
			}
			for _, container := range object.Spec.Template.Spec.Containers {
				images++
				if container.Image != "registry.test/team/gammaguard-webhook:v1.2.3" {
					t.Errorf("%s: image %q", name, container.Image)
				}
			}
		}
		if images == 0 && name != "install-policies.yaml" { // it has no Pod
			t.Errorf("%s: no image", name)
		}
	}
}

func testSBOM(t *testing.T, files map[string][]byte) {
	var bom struct {
		BOMFormat  string `json:"bomFormat"`
		Components []struct {
			PURL string `json:"purl"`
		} `json:"components"`
	}
	if err := json.Unmarshal(files["gammaguard-webhook-v1.2.3-sbom.cdx.json"], &bom); err != nil || bom.BOMFormat != "CycloneDX" {
		t.Fatalf("%q, %v", bom.BOMFormat, err)
	}
	var urls []string
	for _, c := range bom.Components {
		url, _, _ := strings.Cut(c.PURL, "@")
		urls = append(urls, url)
	}
	for _, want := range []string{"pkg:golang/std", "pkg:golang/sigs.k8s.io/kustomize/api", "pkg:golang/github.com/google/go-containerregistry"} {
		if !slices.Contains(urls, want) {
			t.Errorf("no %s among %q", want, urls)
		}
	}
}

func testKrew(t *testing.T, files map[string][]byte) {
	var plugin struct {
		Spec struct {
			Version   string `json:"version"`
			Platforms []struct {
				URI    string `json:"uri"`
				SHA256 string `json:"sha256"`
				Bin    string `json:"bin"`
			} `json:"platforms"`
		} `json:"spec"`
	}
	if err := yaml.UnmarshalStrict(files["krew-gammaguard.yaml"], &map[string]any{}); err != nil {
		t.Fatal(err)
	}
	if err := yaml.Unmarshal(files["krew-gammaguard.yaml"], &plugin); err != nil {
		t.Fatal(err)
	}
	if plugin.Spec.Version != "v1.2.3" || len(plugin.Spec.Platforms) != 4 {
		t.Errorf("%+v", plugin)
	}
	for _, p := range plugin.Spec.Platforms {
		name, ok := strings.CutPrefix(p.URI, "https://example.test/v1.2.3/")
		if _, released := files[name]; !ok || !released || len(p.SHA256) != 64 || !strings.HasPrefix(p.Bin, "gammaguard") {
			t.Errorf("%+v", p)
		}
	}
}

// TestWrong refuses what would make half a release, and leaves what was there.
func TestWrong(t *testing.T) {
	dir := t.TempDir()
	r := release{version: "v1.2.3", image: webhook, root: "../..", built: dir, out: filepath.Join(dir, "release")}
	if err := os.Mkdir(r.out, 0o700); err != nil {
		t.Fatal(err)
	}
	if err := r.make(); err == nil || !strings.Contains(err.Error(), "has no gammaguard-webhook") {
		t.Errorf("without binaries: %v", err)
	}
	if _, err := os.Stat(filepath.Join(dir, "release")); err != nil {
		t.Error(err)
	}
	for version, ok := range map[string]bool{"v1.2.3": true, "v1.2.3-rc.1": true, "1.2.3": false, "v1.2": false, "v01.2.3": false, "v1.2.3\n": false} {
		if semantic.MatchString(version) != ok {
			t.Errorf("%q: want %t", version, ok)
		}
	}
}
