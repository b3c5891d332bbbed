package printable

import (
	"bytes"
	"fmt"
	"io"
	"slices"
	"sync"
	"unicode/utf16"
	"unicode/utf8"
)

// Style begins a part of a text that is shown otherwise on a terminal, by a control
// sequence of ECMA-48 (Select Graphic Rendition).
type Style string

// The styles that the program uses.
const (
	Bold    Style = "\x1b[1m"
	BoldRed Style = "\x1b[1;31m"
	Green   Style = "\x1b[32m"
	Yellow  Style = "\x1b[33m"
	Blue    Style = "\x1b[34m"
	Magenta Style = "\x1b[35m"
	Cyan    Style = "\x1b[36m"

	reset Style = "\x1b[0m"
)

// ClearLine goes back to the beginning of the line of a terminal, and clears it.
const ClearLine = "\r\x1b[K"

// sequences are the control sequences that the program writes.
var sequences = [][]byte{
	[]byte(Bold), []byte(BoldRed), []byte(Green), []byte(Yellow), []byte(Blue), []byte(Magenta), []byte(Cyan), []byte(reset), []byte(ClearLine),
}

// Of returns the Text of a text in the style.
func (s Style) Of(text string) Layout { return Layout(string(s) + Text(text) + string(reset)) }

// Writer is the end of an output: it writes lines as they are, and escapes in them what
// Text does.
type Writer struct {
	out    io.Writer
	styled bool
	// commands is set if lines may begin with "::".
	commands bool
	// headings is set if lines may begin with more than one "#".
	headings bool
	// escape writes a character in a way of the output's own; nil for the way of Text.
	escape func(text []byte, r rune) []byte

	mu   sync.Mutex
	line escaper
	// rest is the beginning of a character, or of a control sequence, that the next call
	// goes on with.
	rest []byte
}

// NewWriter returns the end of an output for people. If it is a terminal with styles, the
// control sequences of this package pass.
func NewWriter(out io.Writer, styled bool) *Writer { return &Writer{out: out, styled: styled} }

// Commands returns the end of an output of workflow commands, as GitHub calls the lines
// that begin with "::". The caller vouches for these.
func Commands(out io.Writer) *Writer {
	return &Writer{out: within(out), commands: true, line: escaper{begun: true}}
}

// Markdown returns the end of an output of Markdown.
func Markdown(out io.Writer) *Writer { return &Writer{out: within(out), headings: true} }

// JSON returns the end of an output of JSON, which stays the same to a reader of JSON.
func JSON(out io.Writer) *Writer {
	return &Writer{out: within(out), escape: func(text []byte, r rune) []byte {
		for _, unit := range utf16.Encode([]rune{r}) {
			text = fmt.Appendf(text, `\u%04x`, unit)
		}
		return text
	}}
}

// XML returns the end of an output of XML, which stays the same to a reader of XML.
func XML(out io.Writer) *Writer {
	return &Writer{out: within(out), escape: func(text []byte, r rune) []byte { return fmt.Appendf(text, "&#x%x;", r) }}
}

// within returns what a Writer for people writes to: other formats have an end of their
// own.
func within(out io.Writer) io.Writer {
	if w, ok := out.(*Writer); ok {
		return w.out
	}
	return out
}

// Unwrap returns what the Writer writes to, such as a file that may be a terminal.
func (w *Writer) Unwrap() io.Writer { return w.out }

// Write writes the bytes, but for the end of them that may be a part of something longer.
func (w *Writer) Write(data []byte) (int, error) {
	w.mu.Lock()
	defer w.mu.Unlock()
	return len(data), w.write(append(w.rest, data...), false)
}

// Flush writes what is left.
func (w *Writer) Flush() error {
	w.mu.Lock()
	defer w.mu.Unlock()
	return w.write(w.rest, true)
}

func (w *Writer) write(data []byte, all bool) error {
	text := make([]byte, 0, len(data)+len(data)/16)
	for len(data) > 0 && (all || !w.partial(data)) {
		size := w.sequence(data)
		if size > 0 {
			text = append(text, data[:size]...)
		} else {
			text, size = w.next(text, data)
		}
		data = data[size:]
	}
	w.rest = slices.Clone(data)
	_, err := w.out.Write(text)
	return err
}

// partial reports whether the data may be the beginning of something longer.
func (w *Writer) partial(data []byte) bool {
	if !utf8.FullRune(data) {
		return true
	}
	return w.styled && slices.ContainsFunc(sequences, func(s []byte) bool { return len(data) < len(s) && bytes.HasPrefix(s, data) })
}

// sequence returns the length of the control sequence that the data begin with.
func (w *Writer) sequence(data []byte) int {
	if w.styled && (data[0] == '\x1b' || data[0] == '\r') {
		for _, sequence := range sequences {
			if bytes.HasPrefix(data, sequence) {
				return len(sequence)
			}
		}
	}
	return 0
}

// next adds the character that the data begin with, and returns its size.
func (w *Writer) next(text, data []byte) ([]byte, int) {
	r, size := utf8.DecodeRune(data)
	switch {
	case r == '\n':
		w.line = escaper{begun: w.commands}
		return append(text, '\n'), size
	case r == '\t' && w.line.marks != 3:
		w.line.last, w.line.marks = 0, -1
		return append(text, '\t'), size
	case w.headings && r == '#' && !w.line.begun:
		return append(text, '#'), size
	case w.escape == nil:
		return w.line.append(text, r, string(data[:size])), size
	}
	before := len(text)
	if text = w.line.append(text, r, string(data[:size])); !bytes.Equal(text[before:], data[:size]) {
		text = w.escape(text[:before], r)
	}
	return text, size
}
