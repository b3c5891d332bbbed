package printable

import (
	"errors"
	"fmt"
	"io/fs"
	"os/exec"
	"strings"
	"testing"
	"unicode"

	"github.com/google/go-cmp/cmp"
)

func TestText(t *testing.T) {
	for text, want := range map[string]string{
		"":                                "",
		"cart":                            "cart",
		"päth ❤ 日本":                       "päth ❤ 日本",
		"a\nb\r\tc":                       `a\nb\r\tc`,
		"\x1b]0;pwned\a\x1b[2J":           `\x1b]0;pwned\a\x1b[2J`,
		"\u009b31m\x7f":                   `\u009b31m\x7f`,
		"\u202egpj.exe\u2069\u061c":       `\u202egpj.exe\u2069\u061c`,
		"\u200b\ufeff\u2028\u00ad":        `\u200b\ufeff\u2028\u00ad`,
		"\u034f\ufe0f\u3164\U000e0041":    `\u034f\ufe0f\u3164\U000e0041`,
		"\u2800\U0001d159\U00013441":      `\u2800\U0001d159\U00013441`,
		"a\xffb\xc3":                      `a\xffb\xc3`,
		"##vso[task.setvariable]":         `#\x23vso[task.setvariable]`,
		"###[group]":                      `#\x23#[group]`,
		"::add-mask::x":                   `:\x3aadd-mask::x`,
		"  ::stop-commands::x":            `  :\x3astop-commands::x`,
		"::::":                            `:\x3a::`,
		"\n::add-mask::x":                 `\n::add-mask::x`,
		"shop::Cart":                      "shop::Cart",
		"--- a":                           `---\x20a`,
		"+++ \n--- b":                     `+++\x20\n--- b`,
		"~~~\ta":                          `~~~\ta`,
		"^^^ +++":                         `^^^\x20+++`,
		"-+- ---- --a ":                   "-+- ---- --a ",
		"---- a":                          "---- a",
		" --- a":                          " --- a",
		`literal \n stays`:                `literal \n stays`,
		"#\u200b#vso[task.complete]done;": `#\u200b#vso[task.complete]done;`,
	} {
		if got := Text(text); got != want {
			t.Errorf("Text(%q) = %s, want %s", text, got, want)
		}
		if again := Text(Text(text)); again != Text(text) {
			t.Errorf("Text of Text(%q) = %s, want %s", text, again, Text(text))
		}
	}
}

// TestVisible says of each code point whether it passes: those of the general categories L,
// M, N, P and S, and the space, do, but for what Unicode calls Default_Ignorable_Code_Point,
// and for some that have no ink.
func TestVisible(t *testing.T) {
	// Default_Ignorable_Code_Point as DerivedCoreProperties.txt of Unicode 15 derives it.
	ignorable := func(r rune) bool {
		return unicode.In(r, unicode.Other_Default_Ignorable_Code_Point, unicode.Cf, unicode.Variation_Selector) &&
			!unicode.In(r, unicode.White_Space, unicode.Prepended_Concatenation_Mark) &&
			(r < 0xfff9 || r > 0xfffb) && (r < 0x13430 || r > 0x1343f)
	}
	escaped := map[string]bool{} // the ranges of what is graphic, not ignorable, and escaped
	passed, begin := 0, rune(-1)
	for r := rune(0); r <= unicode.MaxRune+1; r++ {
		if r >= 0xd800 && r <= 0xdfff { // no UTF-8 has these
			continue
		}
		passes := r <= unicode.MaxRune && Text(string(r)) == string(r)
		graphic := r == ' ' || unicode.In(r, unicode.L, unicode.M, unicode.N, unicode.P, unicode.S)
		switch {
		case passes && (!graphic || ignorable(r)):
			t.Errorf("%U passes", r)
		case passes:
			passed++
		}
		switch inkless := graphic && !passes && !ignorable(r); {
		case inkless && begin < 0:
			begin = r
		case !inkless && begin >= 0:
			escaped[fmt.Sprintf("%X-%X", begin, r-1)] = true
			begin = -1
		}
	}
	want := map[string]bool{
		"2800-2800": true, "2D7F-2D7F": true, "FFFC-FFFC": true, "1107F-1107F": true, "1D159-1D159": true, // blanks and joiners
		"13000-1342F": true, "13440-13455": true, // Egyptian hieroglyphs
		"16FE4-16FE4": true, "18B00-18CD5": true, // Khitan small script
		"1D800-1DA8B": true, "1DA9B-1DA9F": true, "1DAA1-1DAAF": true, // SignWriting
	}
	if diff := cmp.Diff(want, escaped); diff != "" {
		t.Errorf("graphic characters that are escaped (-want +got):\n%s", diff)
	}
	t.Logf("Unicode %s: %d code points pass", unicode.Version, passed)
}

func TestShortened(t *testing.T) {
	for _, text := range []string{"", "cart", strings.Repeat("x", 4096)} {
		if got := Shortened(text); got != text {
			t.Errorf("Shortened(%.10q) = %.10q", text, got)
		}
	}
	got := Shortened("begin" + strings.Repeat("€", 1<<20) + "end")
	if len(got) > 4200 || !strings.HasPrefix(got, "begin€") || !strings.HasSuffix(got, "€end") || !strings.Contains(got, "€ ... €") {
		t.Errorf("%d bytes: %.20q", len(got), got)
	}
}

func TestFprintf(t *testing.T) {
	hostile := "a\n\tb"
	got := Sprintf("%s\t%-6v|%d|%v|%q\n", hostile, errors.New("x\ny"), int32(7), Bold.Of(hostile), hostile)
	if want := "a\\n\\tb\tx\\ny  |7|\x1b[1ma\\n\\tb\x1b[0m|\"a\\n\\tb\"\n"; got != want {
		t.Errorf("got  %q\nwant %q", got, want)
	}
	var out strings.Builder
	Row(&out, "NAME", hostile)
	if got, want := out.String(), "NAME\ta\\n\\tb\n"; got != want {
		t.Errorf("got  %q\nwant %q", got, want)
	}
}

// TestWriter writes each text whole, and byte by byte.
func TestWriter(t *testing.T) {
	for _, c := range []struct {
		name, text, want string
		writer           func(*strings.Builder) *Writer
	}{
		{"lines", "a →\n  ::x\n\t::y\r\x1b[1m\xff\u202e##[z]\n", "a →\n  :\\x3ax\n\t:\\x3ay\\r\\x1b[1m\\xff\\u202e#\\x23[z]\n", func(out *strings.Builder) *Writer { return NewWriter(out, false) }},
		{"styles", ClearLine + "\x1b[1;31ma\x1b[0m\x1b[2J\r\n", ClearLine + "\x1b[1;31ma\x1b[0m\\x1b[2J\\r\n", func(out *strings.Builder) *Writer { return NewWriter(out, true) }},
		{"unfinished", "a\xe2\x86", `a\xe2\x86`, func(out *strings.Builder) *Writer { return NewWriter(out, true) }},
		{"headings", "--- a\n\x1b[1m+++\tb\n--+ c\n-- --- d\n---\n", "---\\x20a\n\x1b[1m+++\\tb\n--+ c\n-- --- d\n---\n", func(out *strings.Builder) *Writer { return NewWriter(out, true) }},
		{"JSON", "{\n  \"a\": \"\u009b\U000e0041##[x\"\n}\n", "{\n  \"a\": \"\\u009b\\udb40\\udc41#\\u0023[x\"\n}\n", func(out *strings.Builder) *Writer { return JSON(out) }},
		{"XML", "<a b=\"\u202e##[\">\n</a>", "<a b=\"&#x202e;#&#x23;[\">\n</a>", func(out *strings.Builder) *Writer { return XML(out) }},
	} {
		t.Run(c.name, func(t *testing.T) {
			for _, step := range []int{len(c.text), 1, 3} {
				var out strings.Builder
				w := c.writer(&out)
				for text := c.text; text != ""; {
					part := text[:min(step, len(text))]
					if n, err := w.Write([]byte(part)); n != len(part) || err != nil {
						t.Fatal(n, err)
					}
					text = text[len(part):]
				}
				if err := w.Flush(); err != nil {
					t.Fatal(err)
				}
				if got := out.String(); got != c.want {
					t.Errorf("in steps of %d: got  %q\nwant %q", step, got, c.want)
				}
			}
		})
	}
}

// TestShell has a shell read the words.
func TestShell(t *testing.T) {
	t.Chdir(t.TempDir())
	for text, want := range map[string]string{
		"":                    "''",
		"cart.shop:80":        "cart.shop:80",
		"/v2/items":           "/v2/items",
		"a=b,c@d":             "a=b,c@d",
		"=ls":                 "'=ls'", // a command, to zsh
		"it's":                `'it'\''s'`,
		"a`touch pasted`":     "'a`touch pasted`'",
		"$(touch pasted)":     "'$(touch pasted)'",
		"a\n b":               `"$(printf 'a\012\040b')"`,
		"a\x1b[2J'; touch x!": `"$(printf 'a\033\1332J\047\073\040touch\040x\041')"`,
		"-n\u202e":            `"$(printf '\055n\342\200\256')"`,
		"%s\x011":             `"$(printf '\045s\0011')"`,
		"##vso[x]":            `"$(printf '\043\043vso\133x\135')"`,
		"*":                   "'*'",
		"~":                   "'~'",
		"a\\b\tc\xff":         `"$(printf 'a\134b\011c\377')"`,
	} {
		word := Shell(text)
		if word != want {
			t.Errorf("Shell(%q) = %s, want %s", text, word, want)
		}
		if Text(word) != word {
			t.Errorf("Shell(%q) is not one line that shows: %q", text, word)
		}
		read, err := exec.CommandContext(t.Context(), "sh", "-c", "for word in "+word+"; do printf '%s.' \"$word\"; done").Output()
		if err != nil || string(read) != text+"." {
			t.Errorf("the shell reads %s as %q: %v", word, read, err)
		}
	}
	if left, _ := exec.CommandContext(t.Context(), "ls").Output(); len(left) > 0 {
		t.Errorf("a word ran: %s", left)
	}
}

func TestCode(t *testing.T) {
	for text, want := range map[string]string{
		"":                "",
		"cart 100 %":      "`cart 100 %`",
		"a|b":             "`a\\|b`",
		"a`b``c":          "```a`b``c```",
		"`a":              "`` `a ``",
		" a":              "`  a `",
		"a\n| # forged":   "`a\\n\\| # forged`",
		"@team ![x](y) <": "`@team ![x](y) <`",
	} {
		if got := Cell(text); got != want {
			t.Errorf("Cell(%q) = %s, want %s", text, got, want)
		}
		if got, want := Code(text), strings.ReplaceAll(want, `\|`, "|"); got != want { // a backslash in code shows
			t.Errorf("Code(%q) = %s, want %s", text, got, want)
		}
	}
}

func TestError(t *testing.T) {
	missing := &fs.PathError{Op: "open", Path: "a\n::add-mask::x", Err: fs.ErrNotExist}
	for _, c := range []struct {
		err  error
		want string
	}{
		{missing, `a\n::add-mask::x: file does not exist`},
		{errors.Join(missing, errors.New("two")), "a\\n::add-mask::x: file does not exist\ntwo"},
		{fmt.Errorf("read\r: %w", errors.Join(missing, fmt.Errorf("x\n%w", missing))), "read\\r: a\\n::add-mask::x: file does not exist\nx\\na\\n::add-mask::x: file does not exist"},
		{fmt.Errorf("%w, %w", missing, missing), `open a\n::add-mask::x: file does not exist, open a\n::add-mask::x: file does not exist`},
	} {
		if got := Error(c.err); got != c.want {
			t.Errorf("got  %s\nwant %s", got, c.want)
		}
	}
}
