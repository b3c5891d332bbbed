package command

import (
	"context"
	"errors"
	"io"
	"slices"

	"github.com/spf13/cobra"

	"github.com/gammaguard/gammaguard/internal/cli/check"
	"github.com/gammaguard/gammaguard/internal/cli/report"
	"github.com/gammaguard/gammaguard/internal/cli/revision"
	"github.com/gammaguard/gammaguard/internal/cli/source"
)

// diffFlags are the flags of the diff command.
type diffFlags struct {
	inputFlags
	base    []string
	baseRef string
	cluster bool
	access  *access
	output  string
}

const diffLong = `Show which requests go somewhere else in one version of the manifests than in another, or than in the live cluster. Each line is a class of requests: what they have
in common, and what becomes of them before and after. In JSON and Markdown, each class has an example request in the form of the arguments
of gammaguard trace.

A PATH is a file or a directory: one with a kustomization is built, one with a Helm chart is rendered, and others are read recursively.

Both versions are read as gammaguard check reads its input, and mutations are applied first. Each version is complete by itself: a route
that is only in the base is removed. With --cluster, the base is what the cluster stores, and routes that the input lacks stay, as after
kubectl apply; the findings are those of the routes in the input. A route that the API server rejects by its CustomResourceDefinition is left out. Findings of
gammaguard check that the base does not have are listed below the changes.

A Canary of Flagger stands for the route that Flagger writes. Weights that Flagger or an Argo Rollout sets are left out: both versions have
those of a rollout at rest, unless --rollout-weights is set.

Exit codes: 0 if no request goes somewhere else, 1 if one does, 2 if the usage is invalid or input cannot be read.`

const diffExamples = `  # Compare with another directory
  gammaguard diff --base main/manifests -f manifests/

  # Compare with the same directory on the branch main
  gammaguard diff --base-ref main manifests/

  # Compare with what is stored in the live cluster
  gammaguard diff --cluster -f manifests/

  # Compare what kustomize builds
  gammaguard diff --base-ref main -k overlays/production

  # Compare what Helm renders
  gammaguard diff --base-ref main --helm charts/shop --values production.yaml

  # Write a comment for a pull request
  gammaguard diff --base-ref origin/main -f manifests/ -o markdown`

func newDiff() *cobra.Command {
	flags := &diffFlags{}
	cmd := &cobra.Command{
		Use:     "diff (--base PATH... | --base-ref REVISION | --cluster) (PATH | -f PATH | -k FOLDER | --helm CHART)...",
		Short:   "Show which requests a change sends somewhere else",
		Long:    diffLong,
		Example: diffExamples,
		RunE:    func(cmd *cobra.Command, args []string) error { return flags.run(cmd, args) },
	}
	set := cmd.Flags()
	flags.add(cmd)
	set.StringSliceVar(&flags.base, "base", nil, "files or directories with what was there before; the command compares with them; with -k, directories with a kustomization are built; with --helm, directories with a chart are rendered with the same --values")
	set.StringVar(&flags.baseRef, "base-ref", "", "git revision, such as a branch, to compare with: the same files and directories, those of --values too, as they are there")
	set.BoolVar(&flags.options.RolloutWeights, "rollout-weights", false, "compare the weights that an Argo Rollout sets as they are written; without it, they are left out")
	flags.access = addWorld(cmd, &flags.cluster, "compare what is stored there with what would be after you apply the input; the command only reads")
	set.Lookup("namespace").Usage = namespaceUsage + "\"default\", or with --cluster " + currentNamespace
	addOutput(cmd, &flags.output, "text", "text", "json", "markdown")
	return cmd
}

func (f *diffFlags) run(cmd *cobra.Command, paths []string) (err error) {
	if err := f.take(paths); err != nil {
		return usage(cmd, err)
	}
	if err := f.validate(cmd); err != nil {
		return usage(cmd, err)
	}
	f.options.Stdin = cmd.InOrStdin()
	live, err := f.access.world(cmd, &f.options, f.cluster)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(f.access.notice(cmd.ErrOrStderr(), live, true), err) }()
	diff, err := f.compare(cmd.Context())
	if err != nil {
		return err
	}
	if err := f.write(diff, cmd.OutOrStdout()); err != nil {
		return err
	}
	if diff.Changes() > 0 {
		return errFindings
	}
	return nil
}

// take takes the paths into the options: a folder with a kustomization is built, one with a chart is
// rendered, and what else there is, is read.
func (f *diffFlags) take(paths []string) error {
	named, err := f.complete()
	if err != nil || len(paths) == 0 {
		return err
	}
	if named {
		return errors.New("PATH cannot be used with -f, -k, or --helm")
	}
	paths, f.options.Charts = source.SplitCharts(paths, nil)
	f.options.Files, f.options.Kustomizations = source.SplitKustomizations(paths)
	return nil
}

func (f *diffFlags) validate(cmd *cobra.Command) error {
	named := len(f.options.Files)+len(f.options.Kustomizations)+len(f.options.Charts) > 0
	bases := 0
	for _, given := range []bool{len(f.base) > 0, f.baseRef != "", f.cluster} {
		if given {
			bases++
		}
	}
	stdin := slices.Contains(f.options.Files, source.Stdin)
	switch {
	case !named:
		return errors.New("nothing to compare: specify files or directories, also with -f, -k, or --helm")
	case bases != 1:
		return errors.New("specify what to compare with: --base, --base-ref, or --cluster")
	case f.cluster && f.options.Complete:
		return errors.New("--cluster and --complete cannot be used together")
	case stdin && f.baseRef != "":
		return errors.New("--base-ref cannot be used with standard input")
	case stdin && slices.Contains(f.base, source.Stdin):
		return errors.New("standard input can be read only once")
	case !f.cluster:
		return f.access.unused(cmd.Flags())
	}
	return nil
}

// compare compares the input with its base.
func (f *diffFlags) compare(ctx context.Context) (diff *report.Diff, err error) {
	base := f.options
	if f.cluster {
		base.Files, base.Kustomizations, base.Charts = nil, nil, nil
		return check.Diff(ctx, &base, &f.options)
	}
	if f.baseRef == "" {
		base.Files, base.Kustomizations, base.Charts = f.base, nil, nil
		if len(f.options.Kustomizations) > 0 {
			base.Files, base.Kustomizations = source.SplitKustomizations(base.Files)
		}
		if len(f.options.Charts) > 0 {
			base.Files, base.Charts = source.SplitCharts(base.Files, f.chart.Values)
		}
		return check.Diff(ctx, &base, &f.options)
	}
	tree, err := revision.Checkout(ctx, f.baseRef)
	if err != nil {
		return nil, err
	}
	defer func() { err = errors.Join(err, tree.Remove()) }()
	then, err := f.options.In(tree)
	if err != nil {
		return nil, err
	}
	diff, err = check.Diff(ctx, then, &f.options)
	return diff, tree.Named(err)
}

func (f *diffFlags) write(diff *report.Diff, w io.Writer) error {
	switch f.output {
	case "json":
		return writeJSON(w, diff)
	case "markdown":
		return diff.Markdown(w)
	}
	return diff.Text(w, colorful(w))
}
