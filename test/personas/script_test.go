package personas

import (
	"bytes"
	"context"
	"errors"
	"flag"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
	"time"
)

var update = flag.Bool("update", false, "write the output of commands into the scripts")

// script is a page of a persona's day. A block "yaml FILE" is a file that the persona writes, and "console" has
// commands, each after "$ ", with what they print; "..." stands for any text, or, on a line of its own, any lines.
// A line "# text" is what happens besides; scenes has it. A block "console admin" is what others did before.
type script struct {
	path  string
	lines []string
	// dir is where the persona stands, and environment what the commands get.
	dir                string
	environment, admin []string
	scenes             map[string]func(t *testing.T)
}

func readScript(t *testing.T, path string) *script {
	t.Helper()
	text, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	return &script{path: path, lines: strings.Split(strings.TrimSuffix(string(text), "\n"), "\n")}
}

// play runs the script to its end, or to the first command that does not do what it says.
func (s *script) play(t *testing.T) {
	t.Helper()
	var out []string
	commands := 0
	for i := 0; i < len(s.lines); i++ {
		block, is := strings.CutPrefix(s.lines[i], "```")
		out = append(out, s.lines[i])
		if !is {
			continue
		}
		begin := i + 1
		for i++; s.lines[i] != "```"; i++ {
		}
		language, rest, _ := strings.Cut(block, " ")
		body := s.lines[begin:i]
		switch {
		case language == "console":
			commands += s.console(t, begin, body, rest == "admin", &out)
		case rest != "":
			s.write(t, rest, strings.Join(body, "\n")+"\n")
			out = append(out, body...)
		default:
			out = append(out, body...)
		}
		out = append(out, "```")
	}
	if commands < 5 {
		t.Errorf("%s: only %d commands", s.path, commands)
	}
	if *update {
		if err := os.WriteFile(s.path, []byte(strings.Join(out, "\n")+"\n"), 0o600); err != nil {
			t.Fatal(err)
		}
	}
}

// write writes a file of the persona.
func (s *script) write(t *testing.T, name, text string) {
	t.Helper()
	path := filepath.Join(s.dir, name)
	if err := errors.Join(os.MkdirAll(filepath.Dir(path), 0o750), os.WriteFile(path, []byte(text), 0o600)); err != nil {
		t.Fatal(err)
	}
}

// console runs the commands of a block, and adds to out what they print, or what the script has where that fits.
func (s *script) console(t *testing.T, line int, body []string, admin bool, out *[]string) (commands int) {
	t.Helper()
	for i := 0; i < len(body); {
		if scene, is := strings.CutPrefix(body[i], "# "); is {
			if s.scenes[scene] == nil {
				t.Fatalf("%s:%d: there is no scene %q", s.path, line+i+1, scene)
			}
			s.scenes[scene](t)
			*out = append(*out, body[i])
			i++
			continue
		}
		command, is := strings.CutPrefix(body[i], "$ ")
		if !is {
			t.Fatalf("%s:%d: want a command after \"$ \"", s.path, line+i+1)
		}
		at := line + i + 1
		*out = append(*out, body[i])
		var want []string
		for i++; i < len(body) && !strings.HasPrefix(body[i], "$ ") && !strings.HasPrefix(body[i], "# "); i++ {
			want = append(want, body[i])
		}
		commands++
		if admin {
			if _, failed := s.run(t, command, s.admin); failed {
				got, _ := s.run(t, command, s.admin)
				t.Fatalf("%s:%d: %s: %s", s.path, at, command, got)
			}
			continue
		}
		got, fits := s.await(t, command, want)
		switch {
		case fits:
			*out = append(*out, want...)
		case *update:
			*out = append(*out, got...)
		default:
			t.Fatalf("%s:%d: %s\nprints\n%s\nwant\n%s", s.path, at, command, strings.Join(got, "\n"), strings.Join(want, "\n"))
		}
	}
	return commands
}

// reads are the commands that may be run again: what they show follows what was done.
var reads = regexp.MustCompile(`^(?:gammaguard (?:audit|conflicts|describe|grants|preflight)|kubectl get) `)

// await runs a command, and reports whether it prints what is wanted, in a moment if it only reads.
func (s *script) await(t *testing.T, command string, want []string) (got []string, fits bool) {
	t.Helper()
	deadline := time.Now().Add(20 * time.Second)
	if *update {
		deadline = time.Now().Add(2 * time.Second)
	}
	for {
		got, _ = s.run(t, command, s.environment)
		fits = pattern(want).MatchString(strings.Join(append(got, ""), "\n"))
		if fits || !reads.MatchString(command) || time.Now().After(deadline) {
			return got, fits
		}
		time.Sleep(100 * time.Millisecond)
	}
}

// run runs a command, and returns the lines that it prints, and its exit code where that is not 0.
func (s *script) run(t *testing.T, command string, environment []string) (lines []string, failed bool) {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
	defer cancel()
	var printed bytes.Buffer
	cmd := exec.CommandContext(ctx, "sh", "-c", command)
	cmd.Dir, cmd.Env, cmd.Stdout, cmd.Stderr = s.dir, environment, &printed, &printed
	err := cmd.Run()
	if exit := (*exec.ExitError)(nil); err != nil && !errors.As(err, &exit) {
		t.Fatal(err)
	}
	if text := strings.TrimRight(printed.String(), "\n"); text != "" {
		lines = strings.Split(text, "\n")
	}
	for i := range lines {
		lines[i] = strings.TrimRight(lines[i], " ")
	}
	if code := cmd.ProcessState.ExitCode(); code != 0 {
		return append(lines, fmt.Sprintf("(exit code %d)", code)), true
	}
	return lines, false
}

// pattern matches the lines.
func pattern(lines []string) *regexp.Regexp {
	var b strings.Builder
	b.WriteString("^")
	for _, line := range lines {
		if line == "..." {
			b.WriteString(`(?:.*\n)*?`)
			continue
		}
		b.WriteString(strings.ReplaceAll(regexp.QuoteMeta(line), `\.\.\.`, `.*`) + `\n`)
	}
	if len(lines) == 0 {
		b.WriteString(`\n?`)
	}
	return regexp.MustCompile(b.String() + "$")
}
