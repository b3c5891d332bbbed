package boundary

import (
	"maps"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
)

// pages returns the pages that are written for people, by their paths.
func pages(t *testing.T) map[string]string {
	t.Helper()
	all := map[string]string{}
	for _, pattern := range []string{"*.md", "docs/*.md", "docs/meshes/*.md", "docs/specification/*.md"} {
		files, err := filepath.Glob(filepath.Join("..", "..", pattern))
		if err != nil {
			t.Fatal(err)
		}
		for _, file := range files {
			text, err := os.ReadFile(file)
			if err != nil {
				t.Fatal(err)
			}
			all[strings.TrimPrefix(file, "../../")] = string(text)
		}
	}
	if len(all) < 20 {
		t.Fatalf("only the pages %q", slices.Sorted(maps.Keys(all)))
	}
	delete(all, "CHANGELOG.md") // it speaks of the past
	return all
}

// TestNamedTests: each test that a page names is there, in the folder that the page names,
// if it does. The pages for reviewers name all by their folders.
func TestNamedTests(t *testing.T) {
	tests, counted := testsByFolder(t), 0
	reviewed := []string{"docs/security.md", "docs/threats.md", "docs/risks.md", "docs/attacks.md"}
	for page, text := range pages(t) {
		named := regexp.MustCompile("`([a-z/0-9]+\\.)?((?:Test|Fuzz|Benchmark)[A-Z]\\w*)`").FindAllStringSubmatch(text, -1)
		for _, name := range named {
			folder, function := strings.TrimSuffix(name[1], "."), name[2]
			switch {
			case folder != "" && !slices.Contains(tests[folder], function):
				t.Errorf("%s: %s has no %s", page, folder, function)
			case folder == "" && slices.Contains(reviewed, page):
				t.Errorf("%s: %s: which folder is it in?", page, function)
			case !slices.Contains(slices.Concat(slices.Collect(maps.Values(tests))...), function):
				t.Errorf("%s: there is no %s", page, function)
			}
		}
		if slices.Contains(reviewed, page) {
			counted += len(named)
		}
	}
	if counted < 200 {
		t.Errorf("the pages %q name %d tests", reviewed, counted)
	}
}

// testsByFolder returns the names of all tests, fuzz targets, and benchmarks.
func testsByFolder(t *testing.T) map[string][]string {
	t.Helper()
	all := map[string][]string{}
	function := regexp.MustCompile(`(?m)^func ((?:Test|Fuzz|Benchmark)[A-Z]\w*)\(`)
	if err := filepath.WalkDir("../..", func(path string, entry os.DirEntry, err error) error {
		switch {
		case err != nil:
			return err
		case entry.IsDir() && strings.HasPrefix(entry.Name(), ".") && entry.Name() != "..":
			return filepath.SkipDir
		case !strings.HasSuffix(path, "_test.go"):
			return nil
		}
		text, err := os.ReadFile(path)
		folder := strings.TrimPrefix(filepath.Dir(path), "../../")
		for _, match := range function.FindAllSubmatch(text, -1) {
			all[folder] = append(all[folder], string(match[1]))
		}
		return err
	}); err != nil {
		t.Fatal(err)
	}
	return all
}

// written returns the commands of a page that begin with the words: lines of code blocks,
// and code in sentences.
func written(text, words string) (commands []string) {
	for i, part := range strings.Split(text, "```") {
		pattern := "`(" + words + " [^`]+)`"
		if i%2 == 1 {
			pattern = `(?m)^\s*(?:\$ )?(` + words + ` [^#\n]+)`
		}
		for _, match := range regexp.MustCompile(pattern).FindAllStringSubmatch(part, -1) {
			commands = append(commands, match[1])
		}
	}
	return commands
}

// TestMakeCommands: what pages have users make is a target of the Makefile, with variables
// that it has.
func TestMakeCommands(t *testing.T) {
	makefile, err := os.ReadFile("../../Makefile")
	if err != nil {
		t.Fatal(err)
	}
	checked := 0
	for page, text := range pages(t) {
		for _, command := range written(text, "make") {
			checked++
			targets := strings.Fields(regexp.MustCompile(`^make((?: [a-z0-9-]+)+)`).FindString(command))
			if len(targets) < 2 {
				t.Errorf("%s: %s: which target?", page, command)
				continue
			}
			for _, target := range targets[1:] {
				if !regexp.MustCompile(`(?m)^` + target + `:.*## `).Match(makefile) {
					t.Errorf("%s: %s: there is no target %s", page, command, target)
				}
			}
			for _, variable := range regexp.MustCompile(`\b[A-Z_]+=`).FindAllString(command, -1) {
				if name := strings.TrimSuffix(variable, "="); !strings.Contains(string(makefile), "$("+name+")") {
					t.Errorf("%s: %s: nothing reads %s", page, command, name)
				}
			}
		}
	}
	if checked < 30 {
		t.Errorf("only %d commands", checked)
	}
}

// TestGoCommands: the packages and benchmarks that pages have users run are there.
func TestGoCommands(t *testing.T) {
	tests, checked := testsByFolder(t), 0
	for page, text := range pages(t) {
		for _, command := range written(text, "go (?:test|run)") {
			checked++
			var folders []string
			for _, match := range regexp.MustCompile(`\./([a-z/]+)`).FindAllStringSubmatch(command, -1) {
				if _, err := os.Stat(filepath.Join("..", "..", match[1])); err != nil {
					t.Errorf("%s: %s: %v", page, command, err)
				}
				folders = append(folders, match[1])
			}
			bench := regexp.MustCompile(`-bench (\S+)`).FindStringSubmatch(command)
			if bench == nil {
				continue
			}
			name := regexp.MustCompile(`^Benchmark.*` + strings.TrimPrefix(bench[1], "Benchmark"))
			for _, folder := range folders {
				if !slices.ContainsFunc(tests[folder], name.MatchString) {
					t.Errorf("%s: %s: %s has no such benchmark", page, command, folder)
				}
			}
		}
	}
	if checked < 8 {
		t.Errorf("only %d commands", checked)
	}
}

// TestLinks: what a page links to is there, the heading included, and so are the files of
// this repository that it names. The changelog may name files that are gone, but not link to them.
func TestLinks(t *testing.T) {
	checked := 0
	all := pages(t)
	changes, err := os.ReadFile("../../CHANGELOG.md")
	if err != nil {
		t.Fatal(err)
	}
	all["CHANGELOG.md"] = string(changes)
	for page, text := range all {
		for _, match := range regexp.MustCompile(`\]\(([^)\s:]+)\)`).FindAllStringSubmatch(text, -1) {
			checked++
			target, anchor, _ := strings.Cut(match[1], "#")
			file := page
			if target != "" {
				file = filepath.Join(filepath.Dir(page), target)
			}
			linked, err := os.ReadFile(filepath.Join("..", "..", file))
			if info, failed := os.Stat(filepath.Join("..", "..", file)); err != nil && (failed != nil || !info.IsDir()) {
				t.Errorf("%s links to %s: %v", page, match[1], err)
			}
			if anchor != "" && !slices.Contains(anchors(string(linked)), anchor) {
				t.Errorf("%s links to %s, which has no such heading", page, match[1])
			}
		}
		for _, match := range regexp.MustCompile("`([a-z]+/[a-z0-9_/-]+\\.(?:go|md|yaml|txtar|json))`").FindAllStringSubmatch(text, -1) {
			checked++
			if _, err := os.Stat(filepath.Join("..", "..", match[1])); err != nil && page != "CHANGELOG.md" {
				t.Errorf("%s names %s: %v", page, match[1], err)
			}
		}
	}
	if checked < 150 {
		t.Errorf("only %d links and paths", checked)
	}
}

// TestUninstallKeys: the commands of docs/install.md remove each label and annotation of
// namespaces: those that the code names, except what routes have, and those that config/base selects by.
func TestUninstallKeys(t *testing.T) {
	want := map[string]bool{}
	key := regexp.MustCompile(`(?:(?:Label|Annotation)\s+= "|namespaceSelector: \{matchLabels: \{)(gammaguard\.dev/[a-z-]+)`)
	for _, pattern := range []string{"mesh/*.go", "internal/cli/grants/*.go", "config/base/*.yaml"} {
		files, err := filepath.Glob(filepath.Join("..", "..", pattern))
		if err != nil {
			t.Fatal(err)
		}
		for _, file := range files {
			text, err := os.ReadFile(file)
			if err != nil {
				t.Fatal(err)
			}
			for _, match := range key.FindAllSubmatch(text, -1) {
				want[string(match[1])] = true
			}
		}
	}
	delete(want, "gammaguard.dev/ignore")
	removed := map[string]bool{}
	_, uninstall, _ := strings.Cut(pages(t)["docs/install.md"], "\n## Uninstall\n")
	for _, match := range regexp.MustCompile(`(gammaguard\.dev/[a-z-]+)-\s`).FindAllStringSubmatch(uninstall, -1) {
		removed[match[1]] = true
	}
	if !maps.Equal(want, removed) || len(want) < 8 {
		t.Errorf("docs/install.md removes %q, want %q", slices.Sorted(maps.Keys(removed)), slices.Sorted(maps.Keys(want)))
	}
}

// anchors returns what the headings of a page are called in links.
func anchors(text string) (all []string) {
	for _, match := range regexp.MustCompile(`(?m)^#+ (.*)$`).FindAllStringSubmatch(text, -1) {
		name := regexp.MustCompile(`[^a-z0-9 _-]`).ReplaceAllString(strings.ToLower(match[1]), "")
		all = append(all, strings.ReplaceAll(name, " ", "-"))
	}
	return all
}
