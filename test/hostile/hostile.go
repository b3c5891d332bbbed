// Package hostile is what several tests need that look for the text of others in an
// output: such texts, manifests that hold them wherever a manifest may, and whether an
// output keeps them from doing anything. It knows nothing of how the program does that.
package hostile

import (
	"encoding/json"
	"encoding/xml"
	"errors"
	"fmt"
	"io"
	"regexp"
	"strconv"
	"strings"
	"unicode/utf8"

	"go.yaml.in/yaml/v3"
)

// Text does something in each output, as it is: it moves the cursor and sets the title of
// a terminal, begins lines that GitHub, Azure Pipelines and Buildkite take for commands, turns a text
// round, ends a table, and runs a command where it is pasted.
const Text = "a\x1b]0;pwned\a\x1b[2J\n::add-mask::forged\r\n##vso[task.setvariable variable=PATH]x\t|\u202eb\u2066\u200b\u2800\u2028\u009b2J\u0085\ufeff\x7f" +
	"\n--- forged\n# forged\n|'`touch pasted`$(touch pasted)\";touch pasted;![x](https://example.com)<img src=x>@admins"

// ASCII is what of Text the value of a header may hold by the experimental channel.
const ASCII = "##vso[task.complete]|'`touch pasted`$(touch pasted)\";touch pasted;![x](https://example.com)<img src=x>@admins"

// command are the lines that GitHub's runner reads as commands: those of check -o github.
var command = regexp.MustCompile(`^::(error|warning|notice) (file=[^:,]*,line=\d+,)?title=[a-z-]+::`)

// heading are the lines that Buildkite reads as headings of a log, whatever their color.
var heading = regexp.MustCompile(`^(\x1b\[[0-9;]*[mK])*(---|\+\+\+|~~~|\^\^\^)\s`)

// Check reports why an output in a format of the command line is not safe to show.
func Check(format, out string) error {
	err := shows(format, out)
	switch format {
	case "json", "sarif", "gitlab":
		if !json.Valid([]byte(out)) {
			err = errors.Join(err, errors.New("is not JSON"))
		}
	case "yaml":
		var value any
		err = errors.Join(err, yaml.Unmarshal([]byte(out), &value))
	case "junit":
		err = errors.Join(err, readXML(out))
	case "markdown":
		err = errors.Join(err, markdown(out))
	}
	return err
}

// shows reports what does not only show.
func shows(format, out string) error {
	if !utf8.ValidString(out) {
		return errors.New("is not UTF-8")
	}
	for i, line := range strings.Split(out, "\n") {
		for _, r := range line {
			if r != '\t' && !strconv.IsPrint(r) || r == '\u2800' {
				return fmt.Errorf("line %d has the character %U: %q", i+1, r, line)
			}
		}
		if blank := strings.TrimSpace(line); strings.HasPrefix(blank, "::") && (format != "github" || !command.MatchString(line)) {
			return fmt.Errorf("line %d is a command of GitHub: %q", i+1, line)
		}
		if heading.MatchString(line) {
			return fmt.Errorf("line %d is a heading of Buildkite: %q", i+1, line)
		}
		if strings.Contains(line, "##vso[") || strings.Contains(line, "##[") {
			return fmt.Errorf("line %d is a command of Azure Pipelines: %q", i+1, line)
		}
	}
	return nil
}

func readXML(out string) error {
	decoder := xml.NewDecoder(strings.NewReader(out))
	for {
		if _, err := decoder.Token(); errors.Is(err, io.EOF) {
			return nil
		} else if err != nil {
			return err
		}
	}
}

// markdown reports what a renderer would make of a text that is not code.
func markdown(out string) error {
	for i, line := range strings.Split(out, "\n") {
		rest := ""
		for line != "" {
			before, after, found := strings.Cut(line, "`")
			rest += before
			if !found {
				break
			}
			fence := "`" + after[:len(after)-len(strings.TrimLeft(after, "`"))]
			end := closing(after[len(fence)-1:], fence)
			if end < 0 {
				return fmt.Errorf("line %d has code without an end", i+1)
			}
			line = after[len(fence)-1+end+len(fence):]
		}
		if strings.ContainsAny(rest, "[]!@<$\\'\"") {
			return fmt.Errorf("line %d has text that is not code: %q", i+1, rest)
		}
		if cells := strings.Count(rest, "|"); cells != 0 && cells != 4 && cells != 5 {
			return fmt.Errorf("line %d has %d cells: %q", i+1, cells-1, rest)
		}
	}
	return nil
}

// closing returns where a run of exactly so many backticks is.
func closing(text, fence string) int {
	for at := 0; ; {
		next := strings.Index(text[at:], "`")
		if next < 0 {
			return -1
		}
		at += next
		run := len(text[at:]) - len(strings.TrimLeft(text[at:], "`"))
		if run == len(fence) {
			return at
		}
		at += run
	}
}

// Examples returns the last cells of the tables in Markdown that are code.
func Examples(markdown string) []string {
	var all []string
	cell := regexp.MustCompile("\\| (`+) ?(.*?) ?(`+) \\|$")
	for line := range strings.Lines(markdown) {
		if strings.Count(line, " | ") < 3 {
			continue
		}
		parts := strings.Split(strings.TrimSpace(line), " | ")
		if match := cell.FindStringSubmatch("| " + parts[len(parts)-1]); len(match) == 4 && match[1] == match[3] {
			all = append(all, strings.ReplaceAll(match[2], `\|`, "|"))
		}
	}
	return all
}
