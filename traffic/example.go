package traffic

import (
	"encoding/binary"
	"regexp"
	"regexp/syntax"
	"slices"
	"strings"
	"unicode"
	"unicode/utf8"

	"github.com/gammaguard/gammaguard/mesh"
)

// The bounds of the steps of one search for an example, and of those for the clients of one port.
const (
	maxSearch   = 100_000
	maxSearches = 1_000_000
)

// aPath is what the path of a request looks like.
var aPath = newCondition(mesh.Condition{Type: mesh.RegularExpression, Text: `/[^?#\s[:cntrl:]]*`})

// aServiceName and aMethodName are what those of a gRPC request look like.
var (
	aServiceName = aName(mesh.GRPCServiceDimension)
	aMethodName  = aName(mesh.GRPCMethodDimension)
)

func aName(of mesh.Dimension) *condition {
	c := newCondition(mesh.Condition{Subject: mesh.Subject{Dimension: of}, Type: mesh.RegularExpression, Text: `[^/?#\s[:cntrl:]]+`})
	return &c
}

// example returns a value that meets the condition, and "" where none is found.
func (c *condition) example() string {
	budget := maxSearch
	text, _ := example([]*condition{c}, nil, &budget)
	return text
}

// example returns a short value that meets all these conditions and none of the others, and "" where none is found. There is
// none if it looked at all.
//
// It steps through the expressions together, a character at a time, with the set of the places
// where each of them can be: as a deterministic automaton, of which it makes what it needs.
func example(these, others []*condition, budget *int) (text string, all bool) {
	if *budget <= 0 {
		return "", false
	}
	s := search{seen: map[string]bool{}, left: min(*budget, maxSearch)}
	spent := s.left
	for i, c := range slices.Concat(these, others) {
		parsed, err := syntax.Parse(c.pattern(), syntax.Perl)
		if err != nil {
			return "", false
		}
		program, err := syntax.Compile(parsed.Simplify())
		if err != nil {
			return "", false
		}
		s.left -= len(program.Inst)
		s.programs, s.wanted = append(s.programs, program), append(s.wanted, i < len(these))
	}
	text, all = s.run()
	*budget -= spent - max(s.left, 0)
	return text, all
}

// pattern returns an expression of the values that meet the condition.
func (c *condition) pattern() string {
	literal := regexp.QuoteMeta(c.Text)
	switch {
	case c.whole != nil:
		return c.whole.String()
	case c.Type == mesh.PathPrefix:
		return `(?s)^` + literal + `(?:/.*)?$`
	case c.Type == mesh.Subdomain:
		return `(?s)^.*` + literal + `$`
	}
	return `^` + literal + `$`
}

// search looks for a text that some programs match and others do not.
type search struct {
	programs []*syntax.Prog
	wanted   []bool
	// left are the steps that it may still take.
	left  int
	nodes []searched
	seen  map[string]bool
}

// searched are the texts after which each program can be at the same places.
type searched struct {
	at     [][]uint32
	before int // the node of the text without its last character
	last   rune
}

func (s *search) run() (text string, all bool) {
	start := searched{before: -1, last: -1}
	for _, program := range s.programs {
		start.at = append(start.at, []uint32{uint32(program.Start)})
	}
	s.add(start)
	for i := 0; i < len(s.nodes) && s.left > 0; i++ {
		if s.accepts(i) {
			return s.text(i), true
		}
		for _, next := range s.characters(i) {
			s.step(i, next)
		}
	}
	return "", s.left > 0
}

// add adds a node, unless there is one with the same places.
func (s *search) add(node searched) {
	var key []byte
	for _, at := range node.at {
		key = binary.AppendUvarint(key, uint64(len(at)))
		for _, pc := range at {
			key = binary.AppendUvarint(key, uint64(pc))
		}
	}
	// What a condition on the place in the text, such as \b, asks of the last character.
	key = append(key, byte(syntax.EmptyOpContext(node.last, -1)), byte(syntax.EmptyOpContext(node.last, 'a')))
	if !s.seen[string(key)] {
		s.seen[string(key)] = true
		s.nodes = append(s.nodes, node)
	}
}

// closure returns the instructions that a program can be at before the character next; -1 is the end.
func (s *search) closure(node, program int, next rune) (out []uint32) {
	n := &s.nodes[node]
	holds := syntax.EmptyOpContext(n.last, next)
	at := slices.Clone(n.at[program])
	seen := map[uint32]bool{}
	for len(at) > 0 {
		pc := at[len(at)-1]
		at = at[:len(at)-1]
		s.left--
		if seen[pc] {
			continue
		}
		seen[pc] = true
		switch in := &s.programs[program].Inst[pc]; in.Op {
		case syntax.InstAlt, syntax.InstAltMatch:
			at = append(at, in.Out, in.Arg)
		case syntax.InstCapture, syntax.InstNop:
			at = append(at, in.Out)
		case syntax.InstEmptyWidth:
			if syntax.EmptyOp(in.Arg)&^holds == 0 {
				at = append(at, in.Out)
			}
		case syntax.InstFail:
		default:
			out = append(out, pc)
		}
	}
	return out
}

// accepts reports whether the wanted programs match the text, and no others.
func (s *search) accepts(node int) bool {
	for i, program := range s.programs {
		matches := slices.ContainsFunc(s.closure(node, i, -1), func(pc uint32) bool { return program.Inst[pc].Op == syntax.InstMatch })
		if matches != s.wanted[i] {
			return false
		}
	}
	return true
}

// step adds the node of the text with one more character.
func (s *search) step(node int, next rune) {
	after := searched{before: node, last: next}
	for i, program := range s.programs {
		var at []uint32
		for _, pc := range s.closure(node, i, next) {
			if in := &program.Inst[pc]; in.Op != syntax.InstMatch && in.MatchRune(next) {
				at = append(at, in.Out)
			}
		}
		if len(at) == 0 && s.wanted[i] {
			return
		}
		slices.Sort(at)
		after.at = append(after.at, slices.Compact(at))
	}
	s.add(after)
}

// characters returns one character of each class that no program tells apart, letters and digits first.
func (s *search) characters(node int) []rune {
	cuts := []rune{' ', '!', '0', '9' + 1, 'A', 'Z' + 1, '_', '_' + 1, 'a', 'z' + 1, 0x7f, 0x80}
	for i, program := range s.programs {
		for _, pc := range s.reachable(node, i) {
			in := &program.Inst[pc]
			for j := 0; j < len(in.Rune); j += 2 {
				last := in.Rune[min(j+1, len(in.Rune)-1)]
				cuts = append(cuts, in.Rune[j], last+1)
			}
			if len(in.Rune) == 1 && syntax.Flags(in.Arg)&syntax.FoldCase != 0 {
				for folded := unicode.SimpleFold(in.Rune[0]); folded != in.Rune[0]; folded = unicode.SimpleFold(folded) {
					cuts = append(cuts, folded, folded+1)
				}
			}
		}
	}
	slices.Sort(cuts)
	cuts = slices.Compact(cuts)
	s.left -= len(cuts)
	slices.SortStableFunc(cuts, func(a, b rune) int { return nicety(a) - nicety(b) })
	return slices.DeleteFunc(cuts, func(r rune) bool { return !utf8.ValidRune(r) })
}

// reachable returns the instructions that a program can be at, whatever the next character is.
func (s *search) reachable(node, program int) (out []uint32) {
	for _, next := range []rune{'a', '!', '\n'} {
		out = append(out, s.closure(node, program, next)...)
	}
	return out
}

// nicety is smaller for characters that read better in an example.
func nicety(r rune) int {
	switch at := strings.IndexRune("a0A-_", r); {
	case at >= 0:
		return at
	case 'a' <= r && r <= 'z':
		return 10
	case '0' <= r && r <= '9', 'A' <= r && r <= 'Z':
		return 11
	case '!' <= r && r < 0x7f:
		return 12
	case r == ' ':
		return 13
	case r >= 0x80:
		return 14
	}
	return 15
}

// text returns the text of a node.
func (s *search) text(node int) string {
	var text []rune
	for ; s.nodes[node].before >= 0; node = s.nodes[node].before {
		text = append(text, s.nodes[node].last)
	}
	slices.Reverse(text)
	return string(text)
}
