package report

import (
	"bufio"
	"fmt"
	"io"
	"slices"
	"strconv"
	"strings"

	"github.com/gammaguard/gammaguard/internal/printable"
	"github.com/gammaguard/gammaguard/mesh"
	"github.com/gammaguard/gammaguard/traffic"
)

// VerificationKind is the kind of the JSON form of what gammaguard verify found.
const VerificationKind = "TrafficVerification"

// Verification is where gammaguard and the proxies of a mesh differ. Its JSON form is documented in docs/cli.
type Verification struct {
	TypeMeta
	// File is what the proxies were given, and Format its format.
	File    string              `json:"file,omitempty"`
	Format  string              `json:"format"`
	Mesh    string              `json:"mesh,omitempty"`
	Summary VerificationSummary `json:"summary"`
	// Ports are the Service ports with differences.
	Ports []*VerifiedPort `json:"ports,omitempty"`
	// Notes say what is not compared.
	Notes []string `json:"notes,omitempty"`
	// Flags are those of a command over the same routes under the same mesh, such as "-f manifests --mesh istio".
	Flags string `json:"-"`
	// skipped are the Services and ports that are not compared, by the reason, and reasons these in their order.
	skipped map[string][]string
	reasons []string
}

// VerificationSummary counts what was compared: Service ports, the namespaces of clients, the classes of requests from
// these to those, and the requests that stand for them.
type VerificationSummary struct {
	Ports      int `json:"ports"`
	Namespaces int `json:"namespaces"`
	Classes    int `json:"classes"`
	Requests   int `json:"requests"`
	// Differ counts the classes with a difference.
	Differ int `json:"differ"`
}

// VerifiedPort is what differs for the requests from a namespace to a Service port.
type VerifiedPort struct {
	Service     string           `json:"service"`
	Namespace   string           `json:"namespace"`
	Port        int32            `json:"port"`
	From        string           `json:"from"`
	Differences []*VerifiedClass `json:"differences"`
	// requests counts those that were compared, by what decides them.
	requests map[string]int
}

// VerifiedClass is a class of requests for which the two sides differ, at least for some of them.
type VerifiedClass struct {
	From  string `json:"from"`
	Class string `json:"class"`
	// Differs names what differs: "backends", "timeout" and so on.
	Differs []string `json:"differs"`
	Ours    string   `json:"ours"`
	Theirs  string   `json:"theirs"`
	// Chosen is gammaguard's match that decides; nil where none does.
	Chosen *traffic.Place `json:"chosen,omitempty"`
	// Example is one of the requests, and Requests how many of those compared differ so.
	Example  traffic.Request `json:"example"`
	Requests int             `json:"requests"`
}

// mostNotes is how many notes are kept, and maxSkipped how many places one names.
const (
	mostNotes  = 1000
	maxSkipped = 10
)

// Note adds a note, once.
func (v *Verification) Note(format string, args ...any) {
	note := printable.Sprintf(format, args...)
	switch {
	case slices.Contains(v.Notes, note), len(v.Notes) > mostNotes:
		return
	case len(v.Notes) == mostNotes:
		note = "there are more notes"
	}
	v.Notes = append(v.Notes, note)
}

// Skip notes a Service or a port that is not compared. Finish writes those of a reason in one note.
func (v *Verification) Skip(place, reason string) {
	if v.skipped[reason] == nil {
		if v.skipped == nil {
			v.skipped = map[string][]string{}
		}
		v.reasons = append(v.reasons, reason)
	}
	v.skipped[reason] = append(v.skipped[reason], place)
}

// Port adds a Service port, as the clients of a namespace find it.
func (v *Verification) Port(key mesh.ServiceKey, port int32, from string) *VerifiedPort {
	p := &VerifiedPort{Service: key.String(), Namespace: key.Namespace, Port: port, From: from, requests: map[string]int{}}
	v.Ports = append(v.Ports, p)
	return p
}

// Count counts a request that was compared, by what decides it.
func (p *VerifiedPort) Count(place string) { p.requests[place]++ }

// Finish makes the summary, leaves out ports without differences, and makes texts of others that only show.
func (v *Verification) Finish() {
	for _, reason := range v.reasons {
		places := v.skipped[reason]
		if more := len(places) - maxSkipped; more > 1 {
			places = append(places[:maxSkipped:maxSkipped], fmt.Sprintf("and %d more", more))
		}
		v.Note("%s: not compared, since %s", strings.Join(places, ", "), reason)
	}
	v.Summary = VerificationSummary{}
	ports, namespaces := map[string]bool{}, map[string]bool{}
	for _, p := range v.Ports {
		ports[fmt.Sprint(p.Service, p.Port)], namespaces[p.From] = true, true
		v.Summary.Classes += len(p.requests)
		for _, n := range p.requests {
			v.Summary.Requests += n
		}
		places := map[string]bool{}
		for _, d := range p.Differences {
			place := ""
			if d.Chosen != nil {
				place = d.Chosen.String()
			}
			places[place] = true
			d.Class, d.Ours, d.Theirs = printable.Text(d.Class), printable.Text(d.Ours), printable.Text(d.Theirs)
		}
		v.Summary.Differ += len(places)
	}
	v.Summary.Ports, v.Summary.Namespaces = len(ports), len(namespaces)
	v.Ports = slices.DeleteFunc(v.Ports, func(p *VerifiedPort) bool { return len(p.Differences) == 0 })
}

// Text writes what differs for people, with colors if told so.
func (v *Verification) Text(w io.Writer, color bool) error {
	out := bufio.NewWriter(w)
	paint := newPainter(color)
	for _, s := range v.sections() {
		printable.Fprintf(out, "%s\n", paint(printable.Bold, fmt.Sprintf("%s %s, from %s", s.service, plural("port", s.ports), plural("namespace", s.from))))
		title := ""
		for _, d := range s.differences {
			if d.Class != title {
				title = d.Class
				for class := range strings.SplitSeq(title, "\n") {
					printable.Fprintf(out, "  %s\n", paint(printable.BoldRed, class))
				}
			}
			printable.Fprintf(out, "    gammaguard: %s\n", d.Ours)
			printable.Fprintf(out, "    proxies:    %s\n", d.Theirs)
			printable.Fprintf(out, "    example:    gammaguard trace %s\n", printable.Layout(strings.TrimSpace(d.Example.String()+" "+v.Flags)))
		}
		printable.Fprintf(out, "\n")
	}
	for _, note := range v.Notes {
		printable.Fprintf(out, "note: %s\n", note)
	}
	printable.Fprintf(out, "%s\n", &v.Summary)
	return out.Flush()
}

// orEvery names a class of all requests.
func orEvery(class string) string {
	if class == "" {
		return "every request"
	}
	return class
}

// verifiedSection is what the text has of ports with equal differences.
type verifiedSection struct {
	service     string
	ports, from []string
	differences []VerifiedClass
}

// sections returns the differences as the text has them: classes with the same answers are one, with a line for each in
// Class, and so are ports, and namespaces, with the same differences.
func (v *Verification) sections() []*verifiedSection {
	var all []*verifiedSection
	for _, p := range v.Ports {
		s := &verifiedSection{service: p.Service, ports: []string{strconv.Itoa(int(p.Port))}, from: []string{p.From}}
		for _, d := range p.Differences {
			at := slices.IndexFunc(s.differences, func(other VerifiedClass) bool { return other.Ours == d.Ours && other.Theirs == d.Theirs })
			if at < 0 {
				s.differences = append(s.differences, *d)
				s.differences[len(s.differences)-1].Class = orEvery(d.Class)
			} else if class := orEvery(d.Class); !slices.Contains(strings.Split(s.differences[at].Class, "\n"), class) {
				s.differences[at].Class += "\n" + class
			}
		}
		slices.SortStableFunc(s.differences, func(a, b VerifiedClass) int { return strings.Compare(a.Class, b.Class) })
		all = append(all, s)
	}
	all = merge(all, func(s *verifiedSection) *[]string { return &s.ports }, func(s *verifiedSection) []string { return s.from })
	return merge(all, func(s *verifiedSection) *[]string { return &s.from }, func(s *verifiedSection) []string { return s.ports })
}

// merge makes one of the sections that have all the same but one list.
func merge(all []*verifiedSection, list func(*verifiedSection) *[]string, rest func(*verifiedSection) []string) (out []*verifiedSection) {
	same := func(a, b VerifiedClass) bool { return a.Class == b.Class && a.Ours == b.Ours && a.Theirs == b.Theirs }
	for _, s := range all {
		at := slices.IndexFunc(out, func(other *verifiedSection) bool {
			return s.service == other.service && slices.Equal(rest(s), rest(other)) && slices.EqualFunc(s.differences, other.differences, same)
		})
		if at < 0 {
			out = append(out, s)
		} else {
			*list(out[at]) = append(*list(out[at]), *list(s)...)
		}
	}
	return out
}

// plural reads "port 80", or "ports 80, 81".
func plural(noun string, names []string) string {
	if len(names) > 1 {
		noun += "s"
	}
	return noun + " " + strings.Join(names, ", ")
}

// String reads "12 classes of requests compared, from 2 namespaces to 3 Service ports: no difference".
func (s *VerificationSummary) String() string {
	text := Count(s.Classes, "class", "classes") + " of requests compared, from " + Count(s.Namespaces, "namespace", "namespaces") + " to " + Count(s.Ports, "Service port", "Service ports")
	switch s.Differ {
	case 0:
		return text + ": no difference"
	case 1:
		return text + ": 1 class differs"
	}
	return text + fmt.Sprintf(": %d classes differ", s.Differ)
}
