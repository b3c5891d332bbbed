// Package printable is the one place that decides what of a text that others wrote
// reaches an output as it is: a name, a path, a header or an annotation of an object, the
// name of a file, an error about any of them. Text makes one line of a text. The other
// functions make a word of a shell, or a cell of Markdown of it. Writer is the end of each
// output: it lets no other line break or control character through than those of the
// program itself.
package printable

import (
	"fmt"
	"io/fs"
	"slices"
	"strconv"
	"strings"
	"unicode"
	"unicode/utf8"
)

// Text returns the text as one line that only shows: characters that one cannot see, or
// that do something, are escaped as in Go (\n, \x1b, \u202e), so are bytes that are not
// UTF-8, and so is what a CI system takes for a command in the output of a program. A
// text that is escaped already stays as it is.
func Text(text string) string {
	if harmless(text) {
		return text
	}
	out, e := make([]byte, 0, len(text)+16), escaper{}
	for text != "" {
		r, size := utf8.DecodeRuneInString(text)
		out = e.append(out, r, text[:size])
		text = text[size:]
	}
	return string(out)
}

// maxShown is how many bytes of a text Shortened shows.
const maxShown = 4 << 10

// Shortened leaves out the middle of a text of more than 4 KiB: programs such as Helm say at its end what is wrong.
func Shortened(text string) string {
	if len(text) <= maxShown {
		return text
	}
	return strings.ToValidUTF8(text[:maxShown/2], "") + " ... " + strings.ToValidUTF8(text[len(text)-maxShown/2:], "")
}

// harmless reports whether Text leaves the text as it is, for nearly all texts.
func harmless(text string) bool {
	for i := range len(text) {
		switch c := text[i]; {
		case c < ' ' || c > '~', c == '#' && i > 0 && text[i-1] == '#', c == ':' && i > 0 && text[i-1] == ':':
			return false
		}
	}
	return len(text) < 4 || text[3] != ' ' || !slices.Contains(headings, text[:3])
}

// headings are what Buildkite takes for the beginning of a heading, with a blank behind.
var headings = []string{"---", "+++", "~~~", "^^^"}

// visible reports whether the character shows: it is a letter, a mark, a digit, punctuation,
// a symbol, or the space of ASCII, and none of those that have no ink.
func visible(r rune) bool {
	return strconv.IsPrint(r) && (r <= unicode.MaxLatin1 || !unicode.In(r, inkless...))
}

// inkless are the letters, marks and symbols that do not show, or may not: what Unicode
// tells programs to pass over (all else that is Default_Ignorable_Code_Point is not printable
// in Go), scripts in which some only lay out others, and the blanks among the rest.
var inkless = []*unicode.RangeTable{
	unicode.Other_Default_Ignorable_Code_Point, unicode.Variation_Selector,
	unicode.Egyptian_Hieroglyphs, unicode.Khitan_Small_Script, unicode.SignWriting,
	{
		R16: []unicode.Range16{
			{Lo: 0x2800, Hi: 0x2800, Stride: 1}, // BRAILLE PATTERN BLANK
			{Lo: 0x2d7f, Hi: 0x2d7f, Stride: 1}, // TIFINAGH CONSONANT JOINER
			{Lo: 0xfffc, Hi: 0xfffc, Stride: 1}, // OBJECT REPLACEMENT CHARACTER
		},
		R32: []unicode.Range32{
			{Lo: 0x1107f, Hi: 0x1107f, Stride: 1}, // BRAHMI NUMBER JOINER
			{Lo: 0x1d159, Hi: 0x1d159, Stride: 1}, // MUSICAL SYMBOL NULL NOTEHEAD
		},
	},
}

// escaper escapes the characters of a text, one after the other.
type escaper struct {
	// last is the character that was written before, if it was written as it is.
	last rune
	// begun is set once the line has more than blanks, and one colon.
	begun bool
	// marks is how many characters the line has, as long as they are one of "-+~^" again
	// and again, and -1 after that.
	marks int
}

// append adds the character, whose bytes are raw, to the text.
//
// GitHub's runner takes "::" for a command where a line begins with it, blanks apart, and
// "##[" anywhere; Azure Pipelines takes "##vso[" and TeamCity "##teamcity[". Buildkite
// takes "---", "+++", "~~~" and "^^^" for a heading where a line begins with it and a blank.
func (e *escaper) append(text []byte, r rune, raw string) []byte {
	last, begun, marks := e.last, e.begun, e.marks
	if e.marks++; marks < 0 || !strings.ContainsRune("-+~^", r) || marks > 0 && r != last {
		e.marks = -1
	}
	e.last = r
	e.begun = begun || r != ' ' && (r != ':' || last == ':')
	switch {
	case r == utf8.RuneError && len(raw) == 1:
		return fmt.Appendf(text, `\x%02x`, raw[0])
	case r == '#' && last == '#', r == ':' && last == ':' && !begun, r == ' ' && marks == 3:
		e.last = 0
		return fmt.Appendf(text, `\x%02x`, r)
	case visible(r):
		return append(text, raw...)
	}
	quoted := strconv.QuoteRuneToASCII(r)
	return append(text, quoted[1:len(quoted)-1]...)
}

// Shell returns the text as a word of a POSIX shell, whatever is in it: as it is where
// that is a word, in single quotes, or, if it is not one line that shows, as what printf
// makes of octal numbers. The shell drops line breaks at the end of such a word.
func Shell(text string) string {
	special := func(r rune) bool {
		return (r < 'a' || r > 'z') && (r < 'A' || r > 'Z') && (r < '0' || r > '9') && r != '.' && r != '_'
	}
	switch plain := strings.NewReplacer("-", "", ":", "", "/", "", "@", "", "=", "", ",", "").Replace(text); {
	case text != "" && text[0] != '=' && !strings.ContainsFunc(plain, special) && Text(text) == text:
		return text
	case Text(text) == text:
		return "'" + strings.ReplaceAll(text, "'", `'\''`) + "'"
	}
	var word strings.Builder
	for i := range len(text) {
		if c := text[i]; special(rune(c)) {
			fmt.Fprintf(&word, `\%03o`, c)
		} else {
			word.WriteByte(c)
		}
	}
	return `"$(printf '` + word.String() + `')"`
}

// Cell is Code for a cell of a table.
func Cell(text string) string { return strings.ReplaceAll(Code(text), "|", `\|`) }

// Code returns the text as code of Markdown, outside of tables. A renderer
// takes nothing in it for a link, an image, or a mention, and it is copied as it is shown.
func Code(text string) string {
	text = Text(text)
	if text == "" {
		return ""
	}
	longest, run := 0, 0
	for _, r := range text {
		if run++; r != '`' {
			run = 0
		}
		longest = max(longest, run)
	}
	fence, pad := strings.Repeat("`", longest+1), ""
	if strings.Trim(text, "` ") != text {
		pad = " "
	}
	return fence + pad + text + pad + fence
}

// Error returns an error as people read it: on one line, or, if it was joined of several,
// each of them on a line of its own.
func Error(err error) string {
	switch joined := err.(type) { //nolint:errorlint // it takes the error apart
	case *fs.PathError: // without the name of the system call
		return Text(joined.Path + ": " + joined.Err.Error())
	case interface{ Unwrap() []error }:
		var texts, lines []string
		for _, part := range joined.Unwrap() {
			texts, lines = append(texts, part.Error()), append(lines, Error(part))
		}
		if strings.Join(texts, "\n") == err.Error() {
			return strings.Join(lines, "\n")
		}
	case interface{ Unwrap() error }:
		if inner := joined.Unwrap(); inner != nil && strings.HasSuffix(err.Error(), inner.Error()) {
			return Text(strings.TrimSuffix(err.Error(), inner.Error())) + Error(inner)
		}
	}
	return Text(err.Error())
}
