package command

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"slices"

	"github.com/spf13/cobra"

	"github.com/gammaguard/gammaguard/internal/cli/check"
	"github.com/gammaguard/gammaguard/internal/cli/report"
	"github.com/gammaguard/gammaguard/internal/cli/revision"
	"github.com/gammaguard/gammaguard/internal/cli/sets"
	"github.com/gammaguard/gammaguard/internal/cli/source"
)

// diffFlags are the flags of the diff command.
type diffFlags struct {
	inputFlags
	// paths are where sets are looked for, if byHand is not set: no flag names the input.
	paths   []string
	byHand  bool
	base    []string
	baseRef string
	cluster bool
	access  *access
	// given is the configuration that flags name, whatever a project does.
	given   configuration
	outputs outputs
}

const diffLong = `Show which requests go somewhere else in one version of the manifests than in another, or than in the live cluster. Each line is a class of requests: what they have
in common, and what becomes of them before and after. In JSON and Markdown, each class has an example request in the form of the arguments
of gammaguard trace. Markdown fits into a comment on GitHub: if it is too long, changes are left out first, then notes, and denials last.

Both versions are read as gammaguard check reads its input, and mutations are applied first. Without -f, -k, and --helm, the command finds
what is deployed together below each PATH, by default the current directory. It compares each set with the one of its kind and path in the
base. A set that can no longer be read or built is an error, whatever the cause. The summary counts the others that cannot be compared, and a
note names each. So it is with what both versions have and only one ignores, or leaves out of the sets of .gammaguard.yaml. With -f, -k, or
--helm, too, a base that is broken is not compared, and a note says so. A route, Service, Namespace, or ReferenceGrant that only the base has
is removed. Other objects that the input lacks are assumed to exist, unless --complete is set.

With --cluster, the base is what the cluster stores. As after kubectl apply, routes that the input lacks stay, and so do stored labels and
annotations that it does not set and that kubectl did not apply before. All input is one set
then: a PATH with a kustomization is built, and one with a Helm chart is rendered.

A route that the API server rejects by its CustomResourceDefinition is left out, or, if the base has it, stays as it was. Findings of
gammaguard check, and what mutations set, are listed below the changes where the base does not have the same. So is a finding that denies
now, and did not in the base.

A Canary of Flagger stands for the route that Flagger writes. Weights that Flagger or an Argo Rollout sets are left out: both versions have
those of a rollout at rest, unless --rollout-weights is set.

Exit codes: 0 if no request goes somewhere else, 1 if one does or may, 2 if the usage is invalid or input cannot be read.`

const diffExamples = `  # Compare what is deployed in the current directory with the branch main
  gammaguard diff --base-ref main

  # Compare with another directory
  gammaguard diff --base main/manifests -f manifests/

  # Compare with the same directory on the branch main
  gammaguard diff --base-ref main -f manifests/

  # Compare with what is stored in the live cluster
  gammaguard diff --cluster -f manifests/

  # Compare what kustomize builds
  gammaguard diff --base-ref main -k overlays/production

  # Compare what Helm renders
  gammaguard diff --base-ref main --helm charts/shop --values production.yaml

  # Write a comment for a pull request
  gammaguard diff --base-ref origin/main -f manifests/ -o markdown

  # Write the comment to a file, in addition to text
  gammaguard diff --base-ref origin/main -o text -o markdown=comment.md`

func newDiff() *cobra.Command {
	flags := &diffFlags{}
	cmd := &cobra.Command{
		Use:     "diff (--base PATH... | --base-ref REVISION | --cluster) ([PATH...] | (-f PATH | -k DIRECTORY | --helm CHART)...)",
		Short:   "Show which requests a change sends somewhere else",
		Long:    diffLong,
		Example: diffExamples,
		RunE:    func(cmd *cobra.Command, args []string) error { return flags.run(cmd, args) },
	}
	set := cmd.Flags()
	flags.add(cmd)
	addPaths(set, &flags.base, "base", "", "files or directories with what was there before; the command compares with them; without -f, -k, and --helm, another version of PATH, which is a directory, or a file that is then compared alone; with -k, directories with a kustomization are built; with --helm, directories with a chart are rendered with their own --values: the files that are where those of the input are")
	set.StringVar(&flags.baseRef, "base-ref", "", "git revision, such as a branch, to compare with: the same files and directories, those of --values too, as they are there; a chart of which it has no file of --values is new")
	set.BoolVar(&flags.options.RolloutWeights, "rollout-weights", false, "compare the weights that an Argo Rollout sets as they are written; without it, they are left out")
	flags.access = addWorld(cmd, &flags.cluster, "compare what is stored there with what would be after you apply the input; the command only reads")
	set.Lookup("namespace").Usage = namespaceUsage + "\"default\", or with --cluster " + currentNamespace
	addOutputs(cmd, &flags.outputs, diffFormats)
	return cmd
}

func (f *diffFlags) run(cmd *cobra.Command, args []string) (err error) {
	f.paths = args
	if err := f.validate(cmd); err != nil {
		return usage(cmd, err)
	}
	if name := asRevision(cmd.Context(), f.base); name != "" {
		return usage(cmd, fmt.Errorf("%s is a git revision: use --base-ref %s", name, name))
	}
	if err := exist("base", f.base); err != nil {
		return usage(cmd, err)
	}
	f.options.Stdin, f.options.Alone = cmd.InOrStdin(), !f.cluster
	f.given = f.access.config
	project, err := f.project(&f.access.config, f.paths...)
	if err != nil {
		return f.fail(cmd, err)
	}
	live, err := f.access.world(cmd, &f.options, f.cluster)
	if err != nil {
		return f.fail(cmd, err)
	}
	defer func() { err = errors.Join(f.access.notice(cmd.ErrOrStderr(), live, true), err) }()
	var diff *report.Diff
	if f.byHand {
		diff, err = f.compare(cmd.Context())
	} else {
		diff, err = f.compareSets(cmd.Context(), project)
	}
	if diff == nil {
		return f.fail(cmd, err)
	}
	if err := errors.Join(f.outputs.write(cmd.OutOrStdout(), func(w io.Writer, format string) error { return writeDiff(w, format, diff) }), err); err != nil {
		return err
	}
	if !diff.Empty() {
		return errFindings
	}
	return nil
}

// fail returns the error, and writes it in the formats that take the place of an earlier comment or report.
func (f *diffFlags) fail(cmd *cobra.Command, err error) error {
	return errors.Join(f.outputs.write(cmd.OutOrStdout(), func(w io.Writer, format string) error {
		if format == "text" {
			return nil
		}
		return writeDiff(w, format, check.Failed(err))
	}), err)
}

func (f *diffFlags) validate(cmd *cobra.Command) error {
	named, err := f.complete()
	f.byHand = named || f.cluster
	if f.paths = wholePaths(f.paths, named); !f.byHand {
		f.base = source.Whole(f.base)
	}
	if !f.byHand && len(f.base) == 1 && len(f.paths) == 1 && source.IsFile(f.base[0]) && source.IsFile(f.paths[0]) { // and not what is beside them
		f.options.Files, f.paths, f.byHand = f.paths, nil, true
	}
	bases := 0
	for _, given := range []bool{len(f.base) > 0, f.baseRef != "", f.cluster} {
		if given {
			bases++
		}
	}
	stdin := slices.Contains(f.options.Files, source.Stdin)
	switch {
	case err != nil:
		return err
	case named && len(f.paths) > 0:
		return errPath
	case slices.Contains(f.paths, source.Stdin):
		return errStdinPath
	case bases > 1:
		return errors.New("only one of --base, --base-ref, and --cluster can be used")
	case cmd.Flags().Changed("base-ref") && f.baseRef == "":
		return errors.New("--base-ref is empty: a command that was to name the revision found none; fetch it first (actions/checkout: fetch-depth: 0)")
	case bases == 0:
		return errors.New("specify what to compare with: --base, --base-ref, or --cluster")
	case f.cluster && f.options.Complete:
		return errors.New("--cluster and --complete cannot be used together")
	case f.cluster && !named: // one set, of all paths
		f.options.Files, f.options.Charts = source.SplitCharts(f.paths)
		f.options.Files, f.options.Kustomizations = source.SplitKustomizations(f.options.Files)
		return nil
	case !named && len(f.base) > 0 && (len(f.base) > 1 || len(f.paths) > 1):
		return errors.New("to compare what is deployed in two directories, specify one PATH and one --base")
	case !named && len(f.base) == 1 && len(f.paths) == 1 && source.IsFile(f.base[0]) != source.IsFile(f.paths[0]):
		return errors.New("PATH and --base must be two files, or two directories")
	case stdin && f.baseRef != "":
		return errors.New("--base-ref cannot be used with standard input")
	case stdin && slices.Contains(f.base, source.Stdin):
		return errors.New("standard input can be read only once")
	case !f.cluster:
		return f.access.unused(cmd.Flags())
	}
	return nil
}

// compareSets compares the sets that are found below the paths with those in the base.
func (f *diffFlags) compareSets(ctx context.Context, project *sets.Project) (diff *report.Diff, err error) {
	if f.baseRef == "" {
		return f.compareFolders(ctx, project)
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
	start, err := tree.Path(f.paths[0])
	if err != nil {
		return nil, err
	}
	theirs, err := adopt(f.given, tree.Root(), start, then)
	if err != nil {
		return check.NotCompared(tree.Named(err)), ctx.Err()
	}
	wide := widened(f.paths, func(path string) string {
		there, failed := tree.Path(path)
		err = errors.Join(err, failed)
		return cmp.Or(project.Above(path), theirs.Above(there))
	})
	paths, failed := tree.Existing(wide)
	if !theirs.Names() { // a manifest that is new stands for the others of its directory
		for _, path := range wide {
			there, err := tree.Path(path)
			if failed = errors.Join(failed, err); source.IsManifest(path) && !slices.Contains(paths, there) {
				paths = append(paths, there)
			}
		}
	}
	if err := errors.Join(err, failed); err != nil {
		return nil, err
	}
	after, err := find(ctx, &f.options, wide, project)
	if err != nil {
		return nil, err
	}
	before, err := find(ctx, then, paths, theirs)
	if err != nil {
		return check.NotCompared(tree.Named(err)), ctx.Err()
	}
	before.Lacks = tree.InSubmodule
	diff, err = check.DiffSets(ctx, before, after, tree.Path)
	if diff != nil {
		f.nameFiles(ctx, tree, diff)
	}
	return diff, tree.Named(err)
}

// compare compares the input with its base.
func (f *diffFlags) compare(ctx context.Context) (diff *report.Diff, err error) {
	if f.cluster {
		return check.DiffCluster(ctx, &f.options)
	}
	if f.baseRef == "" {
		base := f.options.Before(f.base)
		if f.base[0] != source.Stdin {
			if _, err := adopt(f.given, "", f.base[0], base); err != nil {
				return check.NotCompared(err), ctx.Err()
			}
		}
		return check.Diff(ctx, base, &f.options)
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
	if tree.InSubmodule(f.start()) {
		return check.NotCompared(errors.New(tree.Submodules())), nil
	}
	start, err := tree.Path(f.start())
	if err != nil {
		return nil, err
	}
	if _, err := adopt(f.given, tree.Root(), start, then); err != nil {
		return check.NotCompared(tree.Named(err)), ctx.Err()
	}
	if diff, err = check.Diff(ctx, then, &f.options); diff != nil {
		f.nameFiles(ctx, tree, diff)
	}
	return diff, tree.Named(err)
}

// nameFiles names the files of the base as git does, and notes that the base has another configuration than --config names, and, where anything
// differs, that some of it may be of the base.
func (f *diffFlags) nameFiles(ctx context.Context, tree *revision.Tree, diff *report.Diff) {
	for i, note := range diff.Notes {
		diff.Notes[i] = tree.NamedIn(note)
	}
	for i := range diff.Ports {
		for j, set := range diff.Ports[i].Sets {
			diff.Ports[i].Sets[j] = tree.NamedIn(set)
		}
	}
	if there := tree.Other(f.given.path); there != "" {
		diff.Notes = append(diff.Notes, "both versions are judged by "+f.given.path+", which --config names; "+there+" differs")
	}
	if without := tree.Submodules(); without != "" && diff.NotCompared > 0 {
		diff.Notes = append(diff.Notes, without)
	}
	if diff.BaseLacks {
		diff.Notes = append(diff.Notes, tree.WithoutIgnored())
	}
	if diff.Empty() {
		return
	}
	for _, note := range []string{tree.Sparse(ctx), tree.Ahead(ctx)} {
		if note != "" {
			diff.Notes = append(diff.Notes, note)
		}
	}
}

func writeDiff(w io.Writer, format string, diff *report.Diff) error {
	switch format {
	case "json", "yaml":
		return writeData(w, format, diff)
	case "markdown":
		return diff.Markdown(w)
	}
	return diff.Text(w, colorful(w))
}
