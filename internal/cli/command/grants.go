package command

import (
	"context"
	"errors"
	"fmt"
	"strings"

	"github.com/spf13/cobra"
	apierrors "k8s.io/apimachinery/pkg/api/errors"

	"github.com/gammaguard/gammaguard/config"
	"github.com/gammaguard/gammaguard/internal/cli/check"
	"github.com/gammaguard/gammaguard/internal/cli/cluster"
	"github.com/gammaguard/gammaguard/internal/cli/grants"
	"github.com/gammaguard/gammaguard/internal/manifest"
	"github.com/gammaguard/gammaguard/internal/printable"
	"github.com/gammaguard/gammaguard/mesh"
)

type grantFlags struct {
	access        *access
	allNamespaces bool
	output        string
	requested     bool
}

func newGrants() *cobra.Command {
	cmd := newGrantsList()
	cmd.Use, cmd.Short = "grants", "Show and request the grants of namespaces in a live cluster"
	cmd.Example = strings.ReplaceAll(cmd.Example, "grants list", "grants")
	cmd.AddCommand(newGrantsList(), newGrantsRequest())
	return cmd
}

func newGrantsList() *cobra.Command {
	flags := &grantFlags{}
	cmd := &cobra.Command{
		Use:   "list",
		Short: "List what each namespace may do in the mesh",
		Long: `List the grant and the mode of a namespace, or of all with -A, where each comes from, and how many of its routes use the grant or lack
it. The command only reads from the cluster, and reports what you cannot read there.

With --requested, list the grants that namespaces ask for and do not have, with the command that grants each of them.`,
		Example: `  # List all namespaces
  gammaguard grants list -A

  # List one namespace, with its routes
  gammaguard grants list -n shop -o wide

  # List the requests for grants
  gammaguard grants list -A --requested`,
		Args: noArguments,
		RunE: func(cmd *cobra.Command, _ []string) error { return flags.list(cmd) },
	}
	cmd.Flags().BoolVar(&flags.requested, "requested", false, "list the grants that namespaces ask for")
	addAllNamespaces(cmd, &flags.allNamespaces)
	addOutput(cmd, &flags.output, "a table", "wide", "json", "yaml")
	flags.access = addInstalled(cmd)
	return cmd
}

func (f *grantFlags) list(cmd *cobra.Command) error {
	live, configuration, _, err := f.access.connectInstalled(cmd)
	if err != nil {
		return err
	}
	at := live.Current
	if f.allNamespaces {
		at = ""
	}
	namespaces, err := live.Namespaces(at)
	if err != nil {
		return err
	}
	if len(namespaces) == 0 {
		return unreadable(at)
	}
	out := cmd.OutOrStdout()
	objects, err := live.NamespaceObjects(cmd.Context(), namespaces)
	if err != nil {
		return err
	}
	if f.requested {
		values := map[string]string{}
		for i := range objects {
			if value, asks := objects[i].GetAnnotations()[mesh.GrantRequestAnnotation]; asks {
				values[objects[i].GetName()] = value
			}
		}
		list := grants.FindRequests(namespaces, values, configuration.Policy())
		list.Namespace, list.Unseen = at, live.Unseen()
		switch f.output {
		case "json", "yaml":
			err = writeData(out, f.output, list)
		default:
			err = list.Table(out, cmd.ErrOrStderr(), f.output == "wide")
		}
		return errors.Join(err, f.access.notice(cmd.ErrOrStderr(), live, len(values) > 0))
	}
	var routes []*manifest.Object
	if at != "" {
		routes, err = live.RoutesIn(at)
	} else {
		routes, err = live.Routes()
	}
	if err != nil && !errors.Is(err, mesh.ErrUnknown) {
		return err
	}
	list := grants.Find(namespaces, routes, configuration.Policy())
	for i := range list.Items {
		if item := &list.Items[i]; len(live.Unlisted(item.Name)) == len(mesh.RouteKinds()) {
			item.Uses, item.Lacks = nil, nil
		}
	}
	list.Notes, list.Unseen = cluster.Ineffective(objects), live.Unseen()
	switch f.output {
	case "json", "yaml":
		err = writeData(out, f.output, list)
	default:
		err = list.Table(out, f.output == "wide")
	}
	return errors.Join(err, f.access.notice(cmd.ErrOrStderr(), live, true))
}

// unreadable is that the user cannot read the namespace, or any if it is empty.
func unreadable(namespace string) error {
	where := "namespace " + namespace + ";"
	if namespace == "" {
		where = "any namespace; specify one that you can read with -n, or"
	}
	return errors.New("you cannot read " + where + " ask for the ClusterRole gammaguard-viewer")
}

// pending returns the request that the namespace, which may be nil, has and is not granted; nil for none that can be read.
func pending(ctx context.Context, live *cluster.Cluster, namespace *mesh.Namespace, policy *mesh.GrantPolicy) *grants.Request {
	if namespace == nil {
		return nil
	}
	objects, err := live.NamespaceObjects(ctx, []*mesh.Namespace{namespace})
	if err != nil || len(objects) == 0 {
		return nil
	}
	request, err := grants.Decode(objects[0].GetAnnotations()[mesh.GrantRequestAnnotation])
	if err != nil || request.Granted(namespace, policy) {
		return nil
	}
	return request
}

func newGrantsRequest() *cobra.Command {
	var access *access
	role, reason := "", ""
	cmd := &cobra.Command{
		Use:   "request --role ROLE --reason TEXT",
		Short: "Ask mesh admins for a grant",
		Long: `Write the annotation ` + mesh.GrantRequestAnnotation + ` on the namespace. The annotation asks for a grant, and gives nothing. Mesh admins list
the requests with 'gammaguard grants list -A --requested'. You need permission to patch the namespace; without it, the error has the command
that a mesh admin can run. In a manifest, the value is a role alone, or JSON: {"role": "producer", "reason": "canary of the cart"}.`,
		Example: `  # Ask for the producer grant
  gammaguard grants request -n shop --role producer --reason "canary of the cart"`,
		Args: noArguments,
		RunE: func(cmd *cobra.Command, _ []string) error {
			var missing []string
			for _, flag := range []struct{ name, value string }{{"--role", role}, {"--reason", strings.TrimSpace(reason)}} {
				if flag.value == "" {
					missing = append(missing, flag.name)
				}
			}
			if len(missing) > 0 {
				return usage(cmd, errors.New("required: "+strings.Join(missing, " and ")))
			}
			request := &grants.Request{Role: mesh.Grant(role), Reason: reason}
			value, err := request.Encode()
			if err != nil {
				return usage(cmd, err)
			}
			live, err := access.connect(cmd.Context())
			if err != nil {
				return err
			}
			// Selectors of the configuration do not count: who requests a grant need not be able to read it.
			policy := config.Default().Policy()
			if err := check.NamespaceExists(live, live.Current); err != nil {
				return err
			}
			namespace, err := mesh.Known(mesh.FindNamespace(live, live.Current))
			if err != nil {
				return err
			}
			if namespace != nil && request.Granted(namespace, &policy.Grants) {
				_, err = printable.Fprintf(cmd.OutOrStdout(), "Namespace %s has the grant %s already; nothing was requested.\n", live.Current, role)
				return err
			}
			before := pending(cmd.Context(), live, namespace, &policy.Grants)
			err = live.Annotate(cmd.Context(), live.Current, mesh.GrantRequestAnnotation, value)
			if apierrors.IsForbidden(err) {
				return fmt.Errorf("%w; %s", err, request.Remedy(live.Current, namespace, policy))
			}
			if err != nil {
				return err
			}
			replaced := ""
			if before != nil && before.Role != request.Role {
				replaced = fmt.Sprintf(" This replaces the request for the grant %s.", before.Role)
				if request.Role != mesh.GrantAll {
					replaced += " To ask for both, use --role all."
				}
			}
			_, err = printable.Fprintf(cmd.OutOrStdout(), "Requested the grant %s for namespace %s.%s\n", role, live.Current, replaced)
			return err
		},
	}
	addChoice(cmd, &role, "role", "", "grant to ask for: producer, consumer, or all; required", "producer", "consumer", "all")
	cmd.Flags().StringVar(&reason, "reason", "", "why the namespace needs it, in one line; required")
	access = addCluster(cmd)
	return cmd
}
