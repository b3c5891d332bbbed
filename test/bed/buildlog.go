package bed

import (
	"bytes"
	"fmt"
	"regexp"
	"strings"
	"sync"
)

// buildLog takes in what go build -v writes, a line at a time: a package as it is
// compiled, a module as it is fetched, and else errors.
type buildLog struct {
	mu        sync.Mutex
	rest      []byte
	modules   int
	packages  int
	last      string
	complaint []string
}

// importPath matches the line that names a package.
var importPath = regexp.MustCompile(`^[\w.~/-]+$`)

// Write reads the lines in p; it never fails.
func (l *buildLog) Write(p []byte) (int, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.rest = append(l.rest, p...)
	for {
		line, rest, found := bytes.Cut(l.rest, []byte("\n"))
		if !found {
			return len(p), nil
		}
		l.rest = rest
		l.line(string(line))
	}
}

func (l *buildLog) line(line string) {
	switch {
	case strings.HasPrefix(line, "go: downloading "):
		l.modules++
	case importPath.MatchString(line):
		l.packages++
		l.last = line
	default:
		l.complaint = append(l.complaint, line)
	}
}

// summary says in one line how far the build is.
func (l *buildLog) summary() string {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.packages == 0 {
		return fmt.Sprintf("%d modules fetched", l.modules)
	}
	return fmt.Sprintf("%d packages compiled, %s the latest", l.packages, l.last)
}

// errors returns what went wrong.
func (l *buildLog) errors() string {
	l.mu.Lock()
	defer l.mu.Unlock()
	return strings.Join(append(l.complaint, string(l.rest)), "\n")
}
