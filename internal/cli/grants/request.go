package grants

import (
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"slices"
	"strings"
	"unicode"

	"k8s.io/cli-runtime/pkg/printers"

	"github.com/gammaguard/gammaguard/internal/printable"
	"github.com/gammaguard/gammaguard/mesh"
	"github.com/gammaguard/gammaguard/validate"
	"github.com/gammaguard/gammaguard/validate/rules"
)

// RequestAnnotation, on a namespace, asks mesh admins for a grant. It gives nothing.
const RequestAnnotation = "gammaguard.dev/grant-request"

// maxRequest bounds the annotation's value, in bytes.
const maxRequest = 1 << 10

// Request is the value of RequestAnnotation.
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
	case !slices.Contains([]mesh.Grant{mesh.GrantProducer, mesh.GrantConsumer, mesh.GrantAll}, r.Role):
		return errors.New("role: must be producer, consumer, or all")
	case strings.TrimSpace(r.Reason) == "":
		return errors.New("reason: required")
	case strings.ContainsFunc(r.Reason, unicode.IsControl):
		return errors.New("reason: must be one line")
	}
	return nil
}

// decodeRequest reads a value that anybody may have written.
func decodeRequest(text string) (*Request, error) {
	if len(text) > maxRequest {
		return nil, fmt.Errorf("longer than %d bytes", maxRequest)
	}
	r := &Request{}
	if err := json.Unmarshal([]byte(text), r); err != nil {
		return nil, errors.New("not a request")
	}
	err := r.check()
	return r, err
}

// Requests writes what namespaces ask for and are not granted yet, with the command that
// grants it; to messages that there is none. Values are the annotations by namespace.
func Requests(w, messages io.Writer, namespaces []*mesh.Namespace, values map[string]string, policy *validate.Policy) error {
	slices.SortFunc(namespaces, func(a, b *mesh.Namespace) int { return strings.Compare(a.Name, b.Name) })
	rows := [][]string{{"NAMESPACE", "REQUESTED", "REASON", "COMMAND"}}
	for _, namespace := range namespaces {
		value, asks := values[namespace.Name]
		if !asks {
			continue
		}
		request, err := decodeRequest(value)
		if err != nil {
			rows = append(rows, []string{namespace.Name, "-", "invalid: " + err.Error(), "-"})
			continue
		}
		if missing := request.missing(namespace, &policy.Grants); len(missing) > 0 {
			rows = append(rows, []string{namespace.Name, string(request.Role), request.Reason, rules.GrantCommand(policy, namespace.Name, namespace, mesh.RouteKinds(), missing...)})
		}
	}
	if len(rows) == 1 {
		_, err := printable.Fprintf(messages, "No namespace asks for a grant that it does not have.\n")
		return err
	}
	out := printers.GetNewTabWriter(w)
	for _, row := range rows {
		printable.Row(out, row...)
	}
	return out.Flush()
}

// Granted reports whether the namespace has what the request asks for.
func (r *Request) Granted(namespace *mesh.Namespace, policy *mesh.GrantPolicy) bool {
	return len(r.missing(namespace, policy)) == 0
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
