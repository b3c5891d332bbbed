package check

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"path/filepath"
	"runtime"
	"slices"
	"strings"

	"golang.org/x/sync/errgroup"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/gammaguard/gammaguard/internal/cli/report"
	"github.com/gammaguard/gammaguard/internal/definitions"
	"github.com/gammaguard/gammaguard/internal/manifest"
	"github.com/gammaguard/gammaguard/mesh"
	"github.com/gammaguard/gammaguard/validate"
)

// channel returns the definitions of the routes, before those of the input: of the
// release channel, replaced by those of the cluster and those in Options.CRDs.
func (c *checker) channel(ctx context.Context) (*definitions.Set, error) {
	set, err := definitions.Embedded(cmp.Or(c.options.Channel, definitions.Standard))
	if errors.Is(err, definitions.ErrNotBuiltIn) && (len(c.options.CRDs) > 0 || c.options.Cluster != nil) {
		set, err = definitions.New(), nil
	}
	if err != nil {
		return nil, err
	}
	if c.options.Cluster != nil {
		if err := c.ofCluster(ctx, set); err != nil {
			return nil, err
		}
	}
	found := false
	for _, f := range c.input.read(c.options.CRDs) {
		c.broken = append(c.broken, f.broken...)
		for _, document := range f.documents {
			if !definesRoutes(document.Key) {
				continue
			}
			found = true
			c.trusted[document.Key.Name] = true
			if err := set.PutJSON(document.JSON); err != nil {
				c.broken = append(c.broken, broken(&document, err))
			}
		}
	}
	if len(c.options.CRDs) > 0 && !found {
		return nil, fmt.Errorf("no CustomResourceDefinition of a route kind in %s", strings.Join(c.options.CRDs, ", "))
	}
	return set, nil
}

// ofCluster takes the definitions of the cluster, where they may be read.
func (c *checker) ofCluster(ctx context.Context, set *definitions.Set) error {
	for _, kind := range mesh.RouteKinds() {
		data, err := c.options.Cluster.Definition(ctx, definitionName(kind))
		switch {
		case errors.Is(err, mesh.ErrUnknown):
			continue
		case errors.Is(err, mesh.ErrNotFound):
			set.Remove(schema.GroupKind{Group: mesh.GatewayGroup, Kind: string(kind)})
			continue
		case err == nil:
			err = set.PutJSON(data)
		}
		if err != nil {
			return fmt.Errorf("CustomResourceDefinition %s: %w", definitionName(kind), err)
		}
	}
	return nil
}

func definitionName(kind mesh.RouteKind) string { return kind.Resource() + "." + mesh.GatewayGroup }

// define has routes judged by a definition of the input, unless --crds names one. The input may be somebody else's.
func (c *checker) define(d *document, file string) error {
	if c.trusted[d.Key.Name] {
		return nil
	}
	replaces, err := c.definitions.PutForeign(d.JSON)
	if replaces {
		c.notices = append(c.notices, report.Notice{
			Path: filepath.ToSlash(file), Fails: true,
			Message: "its CustomResourceDefinition " + d.Key.Name + " is not the one that gammaguard is built with, and replaces it, without its CEL rules; to trust a definition, name it with --crds",
		})
	}
	return err
}

// definesRoutes reports whether the object is the definition of a route kind.
func definesRoutes(key manifest.Key) bool {
	if key.Kind != "CustomResourceDefinition" {
		return false
	}
	resource, inGroup := strings.CutSuffix(key.Name, "."+mesh.GatewayGroup)
	return inGroup && slices.ContainsFunc(mesh.RouteKinds(), func(kind mesh.RouteKind) bool { return kind.Resource() == resource })
}

// broken returns the error as one about the document.
func broken(d *document, err error) error {
	origin := d.Origin
	origin.Line = d.line("")
	if at, ok := errors.AsType[*manifest.Error](err); ok {
		err = at.Err
	}
	return &manifest.Error{Origin: origin, Err: err}
}

// write finds what the API server says of each route, on all processors: most of the
// time goes into this.
func (c *checker) write(ctx context.Context) error {
	group, ctx := errgroup.WithContext(ctx)
	group.SetLimit(runtime.GOMAXPROCS(0))
	for _, r := range c.routes {
		group.Go(func() error {
			w := &definitions.Write{Object: r.JSON, Namespace: r.Key.Namespace}
			if len(r.plan.Made()) > 0 {
				w.Mutated = r.patched
			}
			if r.old != nil {
				w.Old = r.old.JSON
			}
			outcome, err := c.definitions.Write(ctx, w)
			if err != nil {
				return fmt.Errorf("%s: %s: %w", r.file.name, r.Key, err)
			}
			r.refusals = slices.DeleteFunc(outcome.Findings, incomplete)
			return nil
		})
	}
	return group.Wait()
}

// incomplete reports whether the finding only says that, because of the others, the API
// server did not get to its CEL rules.
func incomplete(f definitions.Finding) bool {
	return f.Field == "" && strings.Contains(f.Message, "some validation rules were not checked because the object was invalid")
}

// refusal tells of a refusal by the API server.
func (c *checker) refusal(r *route, f *definitions.Finding) report.Finding {
	message, remedy := f.Message, ""
	if f.ID == definitions.VersionNotServed {
		remedy = "install a CustomResourceDefinition of the kind, or name one with --channel or --crds"
		kind := schema.GroupKind{Group: r.Key.Group, Kind: r.Key.Kind}
		if served, err := c.definitions.Served(kind); err == nil && len(served) > 0 {
			remedy = "use one of the versions that are served: " + strings.Join(served, ", ")
		}
	}
	if remedy != "" {
		message += "; " + remedy
	}
	return report.Finding{
		Rule: f.ID, Action: validate.Deny, Effect: validate.Deny, Field: f.Field, Line: r.line(f.Field),
		Problem: f.Message, Remedy: remedy, Message: message + " (" + f.ID + ")",
		Reference: validate.Reference{Detail: f.Field + " " + f.Message},
	}
}
