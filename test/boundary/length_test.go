package boundary

import (
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
)

// What a reader can take in: the words of a page, and of a sentence.
const (
	maxPage     = 1200
	maxSentence = 30
)

var (
	comment = regexp.MustCompile(`(?s)<!--.*?-->`)
	// part is a part of a page that a test writes.
	part      = regexp.MustCompile(`(?s)<!-- (\w+): written by .*?<!-- end of \w+ -->`)
	block     = regexp.MustCompile("(?ms)^ *```.*?\n *```")
	table     = regexp.MustCompile(`(?m)^ *\|.*$`)
	reference = regexp.MustCompile(`!?\[([^\]]*)\]\([^)]*\)`)
	inline    = regexp.MustCompile("`[^`]+`")
	address   = regexp.MustCompile(`https?://\S+`)
	item      = regexp.MustCompile(`(?m)^ *(?:[-*]|\d+\.) |^#+ .*$`)
	end       = regexp.MustCompile(`[.!?][)"*_]*(?:\s+|$)`)
	blank     = regexp.MustCompile(`\n[ \t]*\n`)
)

// readable returns the pages of pages, and those of folders: of rules, of the command line, of
// examples and scenarios.
func readable(t *testing.T) map[string]string {
	t.Helper()
	all := pages(t)
	for _, pattern := range []string{"docs/rules/*.md", "docs/cli/*.md", "examples/*/*.md", "test/scenarios/*.md"} {
		files, err := filepath.Glob(filepath.Join("..", "..", pattern))
		if err != nil || len(files) == 0 {
			t.Fatalf("%s: no files: %v", pattern, err)
		}
		for _, file := range files {
			text, err := os.ReadFile(file)
			if err != nil {
				t.Fatal(err)
			}
			all[strings.TrimPrefix(filepath.ToSlash(file), "../../")] = string(text)
		}
	}
	return all
}

// looked are pages with tables that a test compares with the code.
var looked = []string{"ARCHITECTURE.md", "docs/code-paths.md"}

// TestPagesAreShort: a page is for one reader and one task, so it has at most 1,200 words.
// Parts, tables, and code blocks that are generated do not count, nor do tables that a test
// compares with the code: they are looked up, not read.
func TestPagesAreShort(t *testing.T) {
	for page, text := range readable(t) {
		generated := strings.Contains(text, "<!-- Written by ") || strings.HasPrefix(page, "docs/cli/")
		text = part.ReplaceAllString(text, "")
		if generated || slices.Contains(looked, page) {
			text = table.ReplaceAllString(text, "")
		}
		if generated {
			text = block.ReplaceAllString(text, "")
		}
		if words := len(strings.Fields(comment.ReplaceAllString(text, ""))); words > maxPage {
			t.Errorf("%s has %d words, more than %d: split it, or say less", page, words, maxPage)
		}
	}
}

// TestSentencesAreShort: no sentence has more than 30 words. Code in a sentence is one word.
// Tables and code blocks have no sentences.
func TestSentencesAreShort(t *testing.T) {
	for page, text := range readable(t) {
		for _, sentence := range sentences(text) {
			if words := len(strings.Fields(sentence)); words > maxSentence {
				t.Errorf("%s: %d words, more than %d: %s", page, words, maxSentence, sentence)
			}
		}
	}
}

// sentences returns the sentences of a page. A heading is one, and an item of a list begins one.
func sentences(text string) (all []string) {
	for _, out := range []*regexp.Regexp{part, comment, block, table} {
		text = out.ReplaceAllString(text, "")
	}
	text = inline.ReplaceAllString(text, "code")
	text = reference.ReplaceAllString(text, "$1")
	text = address.ReplaceAllString(text, "address")
	text = item.ReplaceAllString(text, "\n\n$0\n\n")
	for _, paragraph := range blank.Split(text, -1) {
		paragraph = strings.Join(strings.Fields(paragraph), " ")
		for paragraph != "" {
			at := end.FindStringIndex(paragraph)
			if at == nil {
				at = []int{0, len(paragraph)}
			}
			all = append(all, strings.TrimSpace(paragraph[:at[1]]))
			paragraph = paragraph[at[1]:]
		}
	}
	return all
}

// TestAllPagesAreListed: docs/README.md links to each page of docs/.
func TestAllPagesAreListed(t *testing.T) {
	all := pages(t)
	for page := range all {
		if name, is := strings.CutPrefix(page, "docs/"); is && !strings.Contains(name, "/") && name != "README.md" && !strings.Contains(all["docs/README.md"], "]("+name+")") {
			t.Errorf("docs/README.md lacks %s", name)
		}
	}
}

// TestSentences: where a sentence begins and ends.
func TestSentences(t *testing.T) {
	const text = "# A title\n\nOne `a. b` [two](x.md#y) v1.2\nthree. Four (five.) Six:\n\n- seven\n  eight; nine\n- ten!\n\n| a | b. c |\n\n```\nx. y\n```\n<!-- a. b -->\nEleven"
	want := []string{"# A title", "One code two v1.2 three.", "Four (five.)", "Six:", "-", "seven eight; nine", "-", "ten!", "Eleven"}
	if got := sentences(text); !slices.Equal(got, want) {
		t.Errorf("%q, want %q", got, want)
	}
}
