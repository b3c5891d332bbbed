package mesh

import (
	"regexp"
	"strings"
)

var (
	// quantifier is one at the start of the text.
	quantifier = regexp.MustCompile(`^(?:[*+?]|\{[0-9]+(?:,[0-9]*)?\})`)
	// portableClass is a bracket expression at the start of the text: brackets in it are escaped.
	portableClass = regexp.MustCompile(`^\[\^?(?:[^\\\[\]]|\\[\\^$.\[\]|()*+?{}-])+\]`)
)

// NotPortable returns the first part of a regular expression that implementations may
// read in different ways (GEP-4359, Gateway API Regex Definition); empty if there is none.
func NotPortable(text string) string {
	quantified := true // nothing stands before it that a quantifier may follow
	for rest := text; rest != ""; {
		size := 1
		switch c := rest[0]; {
		case c != '\t' && (c < ' ' || c > '~'):
			return firstRune(rest)
		case c == '\\' && (len(rest) < 2 || !strings.ContainsRune(`\^$.[]|()*+?{}`, rune(rest[1]))):
			return rest[:min(2, len(rest))]
		case c == '\\':
			size = 2
		case c == '[':
			if size = len(portableClass.FindString(rest)); size == 0 {
				return rest[:strings.IndexByte(rest+"]", ']')] + "]"
			}
		case strings.HasPrefix(rest, "(?"):
			return rest[:min(3, len(rest))]
		case strings.IndexByte("*+?{", c) >= 0:
			size = len(quantifier.FindString(rest))
			if size == 0 || quantified {
				return rest[:max(size, 1)]
			}
		}
		quantified = strings.IndexByte("*+?{(|", rest[0]) >= 0
		rest = rest[size:]
	}
	return ""
}

// firstRune returns the first character of a text that is not empty.
func firstRune(text string) string {
	for i := range text {
		if i > 0 {
			return text[:i]
		}
	}
	return text
}
