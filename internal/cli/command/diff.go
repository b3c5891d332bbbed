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
	config  configuration
	output  string
}

const diffLong = `Show which requests go somewhere else in one version of the manifests than in another. Each line is a class of requests: what they have
in common, and what becomes of them before and after. In JSON and Markdown, each class has an example request in the form of the arguments
of gammaguard trace.

Both versions are read as gammaguard check reads its input, and mutations are applied first. Each version is complete by itself: a route
that is only in the base is removed. A route that the API server rejects by its CustomResourceDefinition is left out. Findings of
gammaguard check that the base does not have are listed below the changes.

A Canary of Flagger stands for the route that Flagger writes. Weights that Flagger or an Argo Rollout sets are left out: both versions have
those of a rollout at rest, unless --rollout-weights is set.

Exit codes: 0 if no request goes somewhere else, 1 if one does, 2 if the usage is invalid or input cannot be read.`

const diffExamples = `  # Compare with another directory
  gammaguard diff --base main/manifests -f manifests/

  # Compare with the same directory on the branch main
  gammaguard diff --base-ref main -f manifests/

  # Compare what kustomize builds
  gammaguard diff --base-ref main -k overlays/production

  # Compare what Helm renders
  gammaguard diff --base-ref main --helm charts/shop --values production.yaml

  # Write a comment for a pull request
  gammaguard diff --base-ref origin/main -f manifests/ -o markdown`

func newDiff() *cobra.Command {
	flags := &diffFlags{output: "text"}
	cmd := &cobra.Command{
		Use:     "diff (--base PATH... | --base-ref REVISION) (-f PATH | -k FOLDER | --helm CHART)...",
		Short:   "Show which requests a change sends somewhere else",
		Long:    diffLong,
		Example: diffExamples,
		Args:    cobra.NoArgs,
		RunE:    func(cmd *cobra.Command, _ []string) error { return flags.run(cmd) },
	}
	set := cmd.Flags()
	flags.add(cmd, "compare")
	set.StringSliceVar(&flags.base, "base", nil, "files or directories to compare with; with -k, directories with a kustomization are built; with --helm, directories with a chart are rendered with the same --values")
	set.StringVar(&flags.baseRef, "base-ref", "", "git revision, such as a branch, to compare with: the same files and directories, those of --values too, as they are there")
	set.BoolVar(&flags.options.RolloutWeights, "rollout-weights", false, "compare the weights that an Argo Rollout sets as they are written; without it, they are left out")
	set.StringVarP(&flags.options.Namespace, "namespace", "n", "", "namespace of objects that do not set one; if empty, \"default\"")
	addConfig(cmd, &flags.config)
	addChoice(cmd, &flags.output, "output", "o", "output format: text, json, or markdown", "text", "json", "markdown")
	return cmd
}

func (f *diffFlags) run(cmd *cobra.Command) (err error) {
	if err := f.validate(); err != nil {
		return usage(cmd, err)
	}
	f.options.Stdin = cmd.InOrStdin()
	if f.options.Config, err = f.config.load(); err != nil {
		return err
	}
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

func (f *diffFlags) validate() error {
	named, err := f.complete()
	stdin := slices.Contains(f.options.Files, source.Stdin)
	switch {
	case err != nil:
		return err
	case !named:
		return errors.New("nothing to compare: specify files or directories with -f, -k, or --helm")
	case (len(f.base) > 0) == (f.baseRef != ""):
		return errors.New("specify what to compare with, either with --base or with --base-ref")
	case stdin && f.baseRef != "":
		return errors.New("--base-ref cannot be used with standard input")
	case stdin && slices.Contains(f.base, source.Stdin):
		return errors.New("standard input can be read only once")
	}
	return nil
}

// compare compares the input with its base.
func (f *diffFlags) compare(ctx context.Context) (diff *report.Diff, err error) {
	base := f.options
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
