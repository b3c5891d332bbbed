package grants

import (
	"cmp"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"slices"
	"strings"
	"unicode"

	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/cli-runtime/pkg/printers"

	"github.com/gammaguard/gammaguard/internal/cli/report"
	"github.com/gammaguard/gammaguard/internal/printable"
	"github.com/gammaguard/gammaguard/mesh"
	"github.com/gammaguard/gammaguard/validate"
	"github.com/gammaguard/gammaguard/validate/rules"
)

// maxRequest bounds the annotation's value, in bytes.
const maxRequest = 1 << 10

// Request is the value of mesh.GrantRequestAnnotation.
type Request struct {
	Role   mesh.Grant `json:"role"`
	Reason string     `json:"reason"`
}

// Encode returns the annotation's value.
func (r *Request) Encode() (string, error) {
	if err := r.check(); err != nil {
		return "", err
	}
	text, err := json.Marshal(r)
	if len(text) > maxRequest {
		return "", fmt.Errorf("the request is %d bytes, must be at most %d; shorten the reason", len(text), maxRequest)
	}
	return string(text), err
}

func (r *Request) check() error {
	switch {
	case !slices.Contains(roles, r.Role):
		return errors.New("role: must be producer, consumer, or all")
	case strings.TrimSpace(r.Reason) == "":
		return errors.New("reason: required")
	case strings.ContainsFunc(r.Reason, unicode.IsControl):
		return errors.New("reason: must be one line")
	}
	return nil
}

// roles are those that can be asked for.
var roles = []mesh.Grant{mesh.GrantProducer, mesh.GrantConsumer, mesh.GrantAll}

// Decode reads a value that anybody may have written: a role alone, or with a reason, as JSON.
func Decode(text string) (*Request, error) {
	if len(text) > maxRequest {
		return nil, fmt.Errorf("longer than %d bytes", maxRequest)
	}
	r := &Request{Role: mesh.Grant(text)}
	if slices.Contains(roles, r.Role) {
		return r, nil
	}
	if err := json.Unmarshal([]byte(text), r); err != nil {
		return nil, errors.New(`must be producer, consumer, or all, or {"role": "producer", "reason": "TEXT"}`)
	}
	err := r.check()
	return r, err
}

// RequestKind is the kind of the JSON and YAML forms of the requests.
const RequestKind = "GrantRequestList"

// RequestList is what namespaces ask for and are not granted yet, by name.
type RequestList struct {
	report.TypeMeta
	Items []Requested `json:"items"`
	// Namespace is the only one that was looked at; empty for all.
	Namespace string `json:"-"`
	// Unseen lists what the user cannot read.
	Unseen []string `json:"unseen,omitempty"`
}

// Requested is the request of one namespace.
type Requested struct {
	Namespace string     `json:"namespace"`
	Role      mesh.Grant `json:"role,omitempty"`
	Reason    string     `json:"reason,omitempty"`
	// Lacks is the part of the role that the namespace is not granted, such as "producer (TCPRoute)".
	Lacks string `json:"lacks,omitempty"`
	// Command grants what the request asks for, for every kind of route. Also is what else it does, such as "removes the restriction
	// to HTTPRoute, and gives the consumer grant for TCPRoute": the annotation that narrows a grant, and the label none, hold for both roles.
	Command string `json:"command,omitempty"`
	Also    string `json:"also,omitempty"`
	// Granted is what the namespace is granted now.
	Granted string `json:"granted"`
	// Invalid is why the request cannot be read.
	Invalid string `json:"invalid,omitempty"`
}

// FindRequests lists the requests; values are the annotations by namespace.
func FindRequests(namespaces []*mesh.Namespace, values map[string]string, policy *validate.Policy) *RequestList {
	list := &RequestList{TypeMeta: report.Typed(RequestKind), Items: []Requested{}}
	for _, namespace := range namespaces {
		value, asks := values[namespace.Name]
		if !asks {
			continue
		}
		item := Requested{Namespace: namespace.Name, Granted: Effective(namespace, policy)}
		request, err := Decode(value)
		if err != nil {
			item.Invalid = err.Error()
		} else {
			if request.Granted(namespace, &policy.Grants) {
				continue
			}
			item.Role, item.Reason, item.Command = request.Role, request.Reason, request.command(namespace.Name, namespace, policy)
			item.Lacks, item.Also = request.lacks(namespace, &policy.Grants), request.also(namespace, &policy.Grants)
		}
		list.Items = append(list.Items, item)
	}
	slices.SortFunc(list.Items, func(a, b Requested) int { return strings.Compare(a.Namespace, b.Namespace) })
	return list
}

// Table writes the requests as a table, or to messages that there is none; wide has what each namespace is granted now.
func (l *RequestList) Table(w, messages io.Writer, wide bool) error {
	if len(l.Items) == 0 {
		none := "No namespace asks for a grant that it does not have."
		if l.Namespace != "" {
			none = "Namespace " + l.Namespace + " asks for no grant that it does not have; for all namespaces, use -A."
		}
		_, err := printable.Fprintf(messages, "%s\n", none)
		return err
	}
	out := printers.GetNewTabWriter(w)
	row := func(namespace, requested, reason, granted, command string) {
		cells := []string{namespace, requested, reason, granted, command}
		if !wide {
			cells = slices.Delete(cells, 3, 4)
		}
		printable.Row(out, cells...)
	}
	row("NAMESPACE", "REQUESTED", "REASON", "GRANT", "COMMAND")
	for i := range l.Items {
		item := &l.Items[i]
		reason := item.Reason
		if item.Invalid != "" {
			reason = "invalid: " + item.Invalid
		}
		row(item.Namespace, cmp.Or(item.Lacks, "-"), cmp.Or(reason, "-"), item.Granted, cmp.Or(item.Command, "-"))
	}
	if err := out.Flush(); err != nil {
		return err
	}
	var notes []string
	for i := range l.Items {
		if item := &l.Items[i]; item.Also != "" {
			notes = append(notes, "the command for namespace "+item.Namespace+" also "+item.Also)
		}
	}
	return WriteNotes(w, notes)
}

// Granted reports whether the namespace has what the request asks for.
func (r *Request) Granted(namespace *mesh.Namespace, policy *mesh.GrantPolicy) bool {
	return len(r.missing(namespace, policy)) == 0
}

// Remedy says what grants what the request asks for to the namespace of that name, nil if it cannot be read.
func (r *Request) Remedy(name string, namespace *mesh.Namespace, policy *validate.Policy) string {
	ask := "ask a mesh admin to run"
	if namespace == nil {
		ask = "you cannot read the present grant; " + ask + " this, which kubectl refuses if there is another"
	} else if also := r.also(namespace, &policy.Grants); also != "" {
		ask += " this, which also " + also
	}
	return ask + ": " + r.command(name, namespace, policy)
}

func (r *Request) command(name string, namespace *mesh.Namespace, policy *validate.Policy) string {
	return rules.GrantCommand(policy, name, namespace, mesh.RouteKinds(), r.missing(namespace, &policy.Grants)...)
}

// also returns what the command does to a namespace that can be read, and the request does not name.
func (r *Request) also(namespace *mesh.Namespace, policy *mesh.GrantPolicy) string {
	var also []string
	if slices.ContainsFunc(mesh.RouteKinds(), namespace.NarrowsGrant) && !namespace.GrantKinds.Invalid {
		also = append(also, "removes the restriction to "+joined(namespace.GrantKinds.With()))
	}
	grant := string(policy.Label(namespace).Plus(r.missing(namespace, policy)...))
	// The command has the annotation list every kind of route, as if there were none.
	after := &mesh.Namespace{Name: namespace.Name, Labels: labels.Merge(namespace.Labels, labels.Set{mesh.GrantLabel: grant})}
	for _, role := range []mesh.Role{mesh.Producer, mesh.Consumer} {
		var kinds []mesh.RouteKind
		for _, kind := range mesh.RouteKinds() {
			if !r.Role.Allows(role) && policy.Allows(after, role, kind) && !policy.Allows(namespace, role, kind) {
				kinds = append(kinds, kind)
			}
		}
		if len(kinds) > 0 {
			also = append(also, fmt.Sprintf("gives the %s grant for %s", role, joined(kinds)))
		}
	}
	return strings.Join(also, ", and ")
}

// missing returns the roles of the request that the namespace does not have for every kind
// of route.
func (r *Request) missing(namespace *mesh.Namespace, policy *mesh.GrantPolicy) []mesh.Role {
	var missing []mesh.Role
	for _, role := range []mesh.Role{mesh.Producer, mesh.Consumer} {
		lacks := func(kind mesh.RouteKind) bool { return !policy.Allows(namespace, role, kind) }
		if r.Role.Allows(role) && slices.ContainsFunc(mesh.RouteKinds(), lacks) {
			missing = append(missing, role)
		}
	}
	return missing
}

// lacks reads "consumer; producer (TCPRoute)": the roles that are missing, and for which kinds, where it is not all.
func (r *Request) lacks(namespace *mesh.Namespace, policy *mesh.GrantPolicy) string {
	var parts []string
	for _, role := range r.missing(namespace, policy) {
		kinds := slices.DeleteFunc(mesh.RouteKinds(), func(kind mesh.RouteKind) bool { return policy.Allows(namespace, role, kind) })
		if len(kinds) == len(mesh.RouteKinds()) {
			kinds = nil
		}
		parts = append(parts, (&Source{Roles: []mesh.Role{role}, RouteKinds: kinds}).String())
	}
	if all := []string{string(mesh.Producer), string(mesh.Consumer)}; slices.Equal(parts, all) {
		return string(mesh.GrantAll)
	}
	return strings.Join(parts, "; ")
}
