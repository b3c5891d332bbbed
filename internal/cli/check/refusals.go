package check

import (
	"context"
	"fmt"
	"regexp"
	"runtime"
	"slices"
	"strings"

	"golang.org/x/sync/errgroup"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/gammaguard/gammaguard/internal/cli/report"
	"github.com/gammaguard/gammaguard/internal/definitions"
	"github.com/gammaguard/gammaguard/mesh"
	"github.com/gammaguard/gammaguard/validate"
)

// write finds what the API server says of each route, on all processors: most of the
// time goes into this.
func (l *loader) write(ctx context.Context) error {
	group, ctx := errgroup.WithContext(ctx)
	group.SetLimit(runtime.GOMAXPROCS(0))
	for _, r := range l.routes {
		group.Go(func() error {
			w := &definitions.Write{Object: r.JSON, Namespace: r.Key.Namespace}
			if len(r.plan.Made()) > 0 {
				w.Mutated = r.patched
			}
			if r.old != nil {
				w.Old = r.old.JSON
			}
			outcome, err := l.defined.Write(ctx, w)
			if err != nil {
				return fmt.Errorf("%s: %s: %w", r.file.Name, r.Key, err)
			}
			for _, f := range outcome.Findings {
				if !incomplete(f) {
					r.refusals = append(r.refusals, refusal{Finding: f})
				}
			}
			if err := l.undecide(ctx, r, w); err != nil {
				return fmt.Errorf("%s: %s: %w", r.file.Name, r.Key, err)
			}
			err = l.defined.advise(ctx, r, w)
			r.refusals = merged(r.refusals)
			return err
		})
	}
	if err := group.Wait(); err != nil {
		return err
	}
	for _, r := range l.routes {
		if r.refused() && r.mutated != nil && l.world.files.Get(r.Key).Route == r.mutated {
			l.world.rejected[r.Key] = true
		}
	}
	return nil
}

// merged returns the refusals with one in the place of those of the fields of what must be a list.
func merged(refusals []refusal) (all []refusal) {
	for _, f := range refusals {
		if f.List != "" {
			f.Finding = definitions.Finding{ID: f.ID, Field: f.List, Message: "must be a list; begin each entry with -"}
		}
		if !slices.ContainsFunc(all, func(other refusal) bool { return other.Finding == f.Finding }) {
			all = append(all, f)
		}
	}
	return all
}

// refusal is a reason for which the API server refuses a route.
type refusal struct {
	definitions.Finding
	// experimental: with the definitions of the experimental channel, it has nothing against the field.
	experimental bool
	// missing is what is not known and decides whether a mutation fixes the field; nil where none does.
	missing *validate.Reference
}

// advise finds the refusals that the experimental channel does not have.
func (d *defined) advise(ctx context.Context, r *route, w *definitions.Write) error {
	if d.experimental == nil || len(r.refusals) == 0 || d.replaced[definitionName(mesh.RouteKind(r.Key.Kind))] {
		return nil
	}
	outcome, err := d.experimental.Write(ctx, w)
	if err != nil {
		return fmt.Errorf("%s: %s: %w", r.file.Name, r.Key, err)
	}
	for i := range r.refusals {
		r.refusals[i].experimental = r.refusals[i].gone(outcome)
	}
	return nil
}

// incomplete reports whether the finding only says that, because of the others, the API
// server did not get to its CEL rules.
func incomplete(f definitions.Finding) bool {
	return f.Field == "" && strings.Contains(f.Message, "some validation rules were not checked because the object was invalid")
}

// portOfParent is the port of a parentRef.
var portOfParent = regexp.MustCompile(`^spec\.parentRefs\[\d+\]\.port$`)

// refusal tells of a refusal by the API server.
func (j *judge) refusal(r *route, f *refusal) report.Finding {
	if f.missing != nil {
		return j.unknown(r, &validate.Finding{Rule: f.ID, Field: f.Field, Reference: *f.missing})
	}
	message, remedy := f.Message, ""
	if f.ID == definitions.VersionNotServed {
		remedy = "install a CustomResourceDefinition of the kind, or name one with --channel or --crds"
		kind := schema.GroupKind{Group: r.Key.Group, Kind: r.Key.Kind}
		if served, err := j.defined.Served(kind); err == nil && len(served) > 0 {
			remedy = "use one of the versions that are served: " + strings.Join(served, ", ")
		}
	}
	if f.Meant != "" && !f.experimental {
		remedy = fmt.Sprintf("did you mean %q?", f.Meant)
	}
	if text, isText := r.text(f.Field); isText && portOfParent.MatchString(f.Field) {
		if remedy = "a port's name goes in sectionName"; strings.Trim(text, "0123456789") == "" {
			remedy = "write the number without quotes"
		}
	}
	if r.variable(f.Field) {
		remedy = substitute
	}
	if f.experimental {
		if remedy != "" {
			remedy += "; or, "
		}
		remedy += "if your cluster has the experimental channel of the Gateway API, use --channel experimental"
	}
	if remedy != "" {
		message += "; " + remedy
	}
	return report.Finding{
		Rule: f.ID, Action: validate.Deny, Effect: validate.Deny, Field: f.Field, Line: r.Line(f.Field),
		Problem: f.Message, Remedy: remedy, Message: message + " (" + f.ID + ")",
		Reference: validate.Reference{Detail: f.Field + " " + f.Message},
	}
}

// substitute is what to do about a variable.
const substitute = "substitute the variable before the check"

// hasVariable reports whether a text has a variable that is substituted before it is applied, such as one of Flux's postBuild.
func hasVariable(text string) bool { return strings.Contains(text, "${") }

// variable reports whether a field has a variable.
func (r *route) variable(field string) bool {
	text, _ := r.text(field)
	return hasVariable(text)
}

// text returns what a field has, if that is text.
func (r *route) text(field string) (text string, isText bool) {
	value, _, _ := r.Field(field)
	text, isText = value.(string)
	return text, isText
}

// variables reports whether the name of a parent or of a backend, or a namespace of one, has a variable.
func (r *route) variables() bool {
	namespace := r.Route.Metadata.Namespace
	for i := range r.Route.Spec.ParentRefs {
		if hasVariable(r.Route.Spec.ParentRefs[i].Service(namespace).String()) {
			return true
		}
	}
	for backend := range r.Route.Backends() {
		if hasVariable(backend.Ref.Service(namespace).String()) {
			return true
		}
	}
	return false
}
