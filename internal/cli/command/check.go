package command

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"slices"

	"github.com/spf13/cobra"
	"golang.org/x/term"

	"github.com/gammaguard/gammaguard/internal/cli/check"
	"github.com/gammaguard/gammaguard/internal/cli/report"
	"github.com/gammaguard/gammaguard/internal/cli/sets"
	"github.com/gammaguard/gammaguard/internal/cli/source"
	"github.com/gammaguard/gammaguard/internal/printable"
	"github.com/gammaguard/gammaguard/validate"
)

// checkFlags are the flags of the check command.
type checkFlags struct {
	inputFlags
	// paths are where sets are looked for, if byHand is not set: no flag names the input.
	paths      []string
	byHand     bool
	failIfNone bool
	watch      bool
	outputs    outputs
	failOn     string
	cluster    bool
	access     *access
}

const checkLong = `Check the routes in manifests against the rules of the admission webhook before you apply them. The command uses the same rules,
IDs, and messages as the webhook, and reports the file and line of each finding.

It also does to each route what the API server does by its CustomResourceDefinition, after the mutations: it reports fields, values, and
versions that the API server rejects. The definitions are those of the Gateway API release that gammaguard is built with, in the standard
channel. Others take precedence, in this order: those of --crds, of --channel, in the input, and of --cluster.

Without -f, -k, and --helm, the command finds what is deployed together below each PATH, by default the current directory. It checks each
set separately. A set is a kustomization that no other one uses, a Helm chart, or the manifests of another directory. An overlay that others
are built on is a set, too, if they set another namespace, or are beside it and its own base is not. A chart is checked with its values, and
with each file in its directory ci and each values-*.yaml beside its values.yaml. A PATH stands for the sets that use files at or below it,
wherever in the repository these sets are. So a base or a component stands for its overlays, a file for the other manifests of its
directory, and .gammaguardignore for all in it. Of files that declare the same routes, as those for several clusters do, only PATHs are read
then, unless one has no routes, and is common to all. The file .gammaguard.yaml, its configuration, and its context bear on each set: as a
PATH, or in one, they stand for all sets. The command skips hidden directories, node_modules, vendor, and what .gitignore names, unless a
PATH is in it. It always skips files that are not manifests, and what .gammaguardignore names. It reports the sets, what it skipped, and
each file with routes that no set has. With -f, -k, and --helm, all input is one set: only what they name is read. A note names what -f
reads as plain files though it is part of a kustomization or chart.

A file .gammaguard.yaml can name the sets, what exists beside them, what to ignore, the GuardConfiguration, and the minimum severity that
fails the check. It is in the directory of the first path, or in one above it, as far as the root of the repository. Flags take precedence.

The repository need not be trusted: the command starts no program, opens no connection, and reads and writes regular files of the repository
only. What is remote is reported as not checked, unless --allow-remote lets kustomize fetch it.

The command reads all files of a set first and checks all routes together. It uses Services, Namespaces, ServiceImports, EndpointSlices, and
ReferenceGrants in the input as context, and ignores other kinds. It applies mutations first, where the webhook makes them, and reports them. A
rule that depends on an object that is not in the input is reported as unknown, unless --cluster looks the object up or --complete
declares the input complete.

With --watch, the command checks again whenever files change in the directories of the input, and reports errors without exiting. When you
interrupt it, it exits with 0. On a terminal, a check that takes more than a second shows its progress on standard error.

Exit codes: 0 if no finding reaches the severity set by --fail-on, 1 if a finding does, 2 if the usage is invalid or input cannot be
read.`

const checkExamples = `  # Find the sets in the current directory, and check each
  gammaguard check

  # Check the files in a directory, recursively, as one set
  gammaguard check -f manifests/

  # Check what Helm renders
  gammaguard check --helm charts/shop --values production.yaml

  # Check what kustomize builds
  gammaguard check -k overlays/production

  # Check standard input, and look up missing objects in the live cluster
  helm template shop | gammaguard check -f - --cluster

  # Treat the input as complete: an object that is not in it does not exist
  gammaguard check -f manifests/ --complete --config guard.yaml

  # Report what Istio ignores, in addition to what the specification forbids
  gammaguard check -f manifests/ --mesh istio

  # Check routes that exist already as updates, as the webhook does
  gammaguard check -f manifests/ --base main/manifests/

  # Write SARIF for code scanning, in addition to text, and fail on warnings too
  gammaguard check -f manifests/ -o text -o sarif=gammaguard.sarif --fail-on warn

  # Write mutations to the files
  gammaguard check -f manifests/ --fix

  # Check again whenever a file changes
  gammaguard check --watch`

func newCheck() *cobra.Command {
	flags := &checkFlags{failOn: string(validate.Deny)}
	cmd := &cobra.Command{
		Use:     "check [PATH...] | (-f PATH | -k DIRECTORY | --helm CHART)...",
		Short:   "Check routes in manifests",
		Long:    checkLong,
		Example: checkExamples,
		RunE:    func(cmd *cobra.Command, args []string) error { return flags.run(cmd, args) },
	}
	set := cmd.Flags()
	flags.add(cmd)
	set.BoolVar(&flags.watch, "watch", false, "check again whenever files change, until you interrupt the command")
	set.BoolVar(&flags.failIfNone, "fail-if-none", false, "fail if no route was checked")
	addPaths(set, &flags.options.Base, "base", "", "files or directories with what was there before; they are not checked, and a route that is also in the input is checked as an update; with -k, directories with a kustomization are built; with --helm, directories with a chart are rendered with their own --values: the files that are where those of the input are; for a git revision, gammaguard diff --base-ref lists new findings")
	set.BoolVar(&flags.options.Strict, "strict", false, "treat as an error what is unknown, and what could not be checked: sets that need what the repository does not have, manifests that cannot be read, routes that no set has, and definitions of routes that the input replaces")
	addChoice(cmd, &flags.failOn, "fail-on", "", "minimum severity that fails the check: deny, warn (includes mutations), audit, or never", report.FailOn...)
	addOutputs(cmd, &flags.outputs, reportFormats)
	set.BoolVar(&flags.options.Fix, "fix", false, "write mutations to the files of each set that a PATH stands for, also to the sources of kustomizations and to files of charts that are no templates; leave the rest of each file unchanged, and report why a change is not written")
	flags.access = addWorld(cmd, &flags.cluster, "look up there what the input lacks; the command only reads, and reports what you cannot read")
	set.Lookup("namespace").Usage = namespaceUsage + "\"default\", or with --cluster " + currentNamespace
	set.Lookup("as").Usage += " Exemptions in the configuration apply to this user."
	set.Lookup("as-group").Usage += " Exemptions in the configuration apply to this group."
	return cmd
}

func (f *checkFlags) run(cmd *cobra.Command, args []string) error {
	f.paths = args
	if err := f.validate(cmd); err != nil {
		return usage(cmd, err)
	}
	if f.watch {
		return f.runWatch(cmd)
	}
	return f.runOnce(cmd)
}

// runOnce checks, writes the report, and returns errFindings if it fails.
func (f *checkFlags) runOnce(cmd *cobra.Command) (err error) {
	options := &f.options
	options.Stdin, options.Hold = cmd.InOrStdin(), hold
	project, err := f.project(&f.access.config, f.paths...)
	if err != nil {
		return err
	}
	if project != nil && project.FailOn != "" && !cmd.Flags().Changed("fail-on") {
		f.failOn = project.FailOn
	}
	live, err := f.access.world(cmd, options, f.cluster)
	if err != nil {
		return err
	}
	judged := false
	defer func() { err = errors.Join(f.access.notice(cmd.ErrOrStderr(), live, judged), err) }()
	options.User = validate.User{Name: *f.access.Impersonate, Groups: *f.access.ImpersonateGroup}
	options.Propose = f.outputs.propose()
	bar := startProgress(cmd.ErrOrStderr())
	options.Progress = bar.set
	result, err := f.check(cmd.Context(), project)
	bar.stop()
	if result == nil || err != nil && result.Empty() {
		return err
	}
	judged = result.Summary.Routes > 0
	if project != nil && project.FailOn == "never" && !cmd.Flags().Changed("fail-on") && result.Fails(string(validate.Deny)) {
		result.Notices = append(result.Notices, report.Notice{Path: filepath.ToSlash(project.File()), Message: "failOn: never: findings do not fail the check"})
	}
	if f.options.Strict && len(f.outputs.named) > 0 && f.outputs.named[0].format != "text" { // as text, the report has them
		for i := range result.Notices {
			printable.Fprintf(cmd.ErrOrStderr(), "note: %s\n", &result.Notices[i])
		}
	}
	if len(f.outputs.named) == 0 || f.outputs.named[0] == (output{format: "text"}) {
		err = report.WithoutUnchecked(err)
	}
	if err := errors.Join(f.outputs.writeReport(result, f.failOn, cmd.OutOrStdout()), err); err != nil {
		return err
	}
	switch {
	case f.failIfNone && result.Summary.Routes == 0:
		return errors.New("no route was checked")
	case result.Fails(f.failOn):
		return errFindings
	}
	return nil
}

// check checks the input that the flags name, the sets of the project below the paths, or
// those that are found there.
func (f *checkFlags) check(ctx context.Context, project *sets.Project) (*report.CheckReport, error) {
	if f.byHand {
		return check.Run(ctx, &f.options)
	}
	found, err := check.FindSets(ctx, &f.options, widened(f.paths, project.Above), project)
	if err != nil {
		return nil, err
	}
	result, err := check.RunSets(ctx, &f.options, found)
	if none := found.None(); none != nil { // the report has what no set has
		return result, errors.Join(err, none)
	}
	return result, err
}

func (f *checkFlags) validate(cmd *cobra.Command) (err error) {
	if name := asRevision(cmd.Context(), f.options.Base); name != "" {
		return fmt.Errorf("%s is a git revision: for new findings, use gammaguard diff --base-ref %s", name, name)
	}
	if f.byHand, err = f.complete(); err != nil {
		return err
	}
	f.paths = wholePaths(f.paths, f.byHand)
	names := slices.Concat(f.options.Files, f.options.Base)
	stdin := slices.Index(names, source.Stdin)
	switch {
	case f.byHand && len(f.paths) > 0:
		return errPath
	case slices.Contains(f.paths, source.Stdin):
		return errStdinPath
	case stdin >= 0 && slices.Contains(names[stdin+1:], source.Stdin):
		return errors.New("standard input can be read only once")
	case stdin >= 0 && f.watch:
		return errors.New("--watch cannot be used with standard input")
	case f.cluster && f.options.Complete:
		return errors.New("--cluster and --complete cannot be used together")
	case f.options.Fix && slices.Contains(f.options.Files, source.Stdin):
		return errors.New("--fix cannot be used with standard input; specify the source files with -f")
	case !f.cluster:
		return f.access.unused(cmd.Flags())
	}
	return nil
}

// unwrapped returns what an output ends in.
func unwrapped(w io.Writer) io.Writer {
	if end, ok := w.(*printable.Writer); ok {
		return end.Unwrap()
	}
	return w
}

// colorful reports whether the output is a terminal whose user wants colors
// (https://no-color.org).
func colorful(w io.Writer) bool { return isTerminal(w) && os.Getenv("NO_COLOR") == "" }

// isTerminal reports whether the output is a terminal that understands control sequences.
func isTerminal(w io.Writer) bool {
	file, ok := unwrapped(w).(*os.File)
	return ok && term.IsTerminal(int(file.Fd())) && os.Getenv("TERM") != "dumb"
}
