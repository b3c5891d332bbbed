package command

import (
	"fmt"
	"io"
	"sync"
	"time"

	"golang.org/x/term"

	"github.com/gammaguard/gammaguard/internal/printable"
)

// progressAfter is how long a check must take for its progress to be shown.
const progressAfter = time.Second

// progress is a line on a terminal that says how far a check is.
type progress struct {
	out   io.Writer // nil if it is not a terminal
	timer *time.Timer

	mu    sync.Mutex
	text  string
	shown bool
}

// startProgress shows progress on the terminal after a while; nothing on anything else.
func startProgress(out io.Writer) *progress {
	p := &progress{text: "looking for sets"}
	if isTerminal(out) {
		p.out = out
		p.timer = time.AfterFunc(progressAfter, func() {
			p.mu.Lock()
			defer p.mu.Unlock()
			p.shown = p.out != nil
			p.write()
		})
	}
	return p
}

// set says which set is being checked.
func (p *progress) set(set, of int, name string) {
	p.mu.Lock()
	defer p.mu.Unlock()
	underway.Store(&name)
	p.text = fmt.Sprintf("checking set %d of %d: %s", set, of, name)
	p.write()
}

// write writes the line in place of the last one, cut where the terminal ends.
func (p *progress) write() {
	if !p.shown {
		return
	}
	text := []rune(printable.Text(p.text))
	if file, ok := unwrapped(p.out).(interface{ Fd() uintptr }); ok {
		if width, _, err := term.GetSize(int(file.Fd())); err == nil && width > 0 {
			text = text[:min(len(text), width-1)]
		}
	}
	printable.Fprintf(p.out, "%s%s", printable.Layout(printable.ClearLine), string(text))
}

// stop takes the line away.
func (p *progress) stop() {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.shown {
		printable.Fprintf(p.out, "%s", printable.Layout(printable.ClearLine))
	}
	p.out, p.shown = nil, false
	if p.timer != nil {
		p.timer.Stop()
	}
}
