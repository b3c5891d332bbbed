package command

import (
	"errors"
	"fmt"
	"io"
	"os"
	"slices"

	"github.com/spf13/cobra"
	"golang.org/x/term"

	"github.com/gammaguard/gammaguard/check"
	"github.com/gammaguard/gammaguard/check/report"
	"github.com/gammaguard/gammaguard/definitions"
	"github.com/gammaguard/gammaguard/validate"
)

// checkFlags are the flags of the check command.
type checkFlags struct {
	options check.Options
	output  string
	failOn  string
	cluster bool
	access  *access
}

const checkLong = `Check the routes in manifests against the rules of the admission webhook before you apply them. The command uses the same rules,
IDs, and messages as the webhook, and reports the file and line of each finding.

It also does to each route what the API server does by its CustomResourceDefinition, after the mutations: it reports fields, values, and
versions that the API server rejects. The definitions are those of the Gateway API release that gammaguard is built with, in the standard
channel. --channel, --crds, definitions in the input, and --cluster select others.

The command reads all files first and checks all routes together. It uses Services, Namespaces, ServiceImports, EndpointSlices, and
ReferenceGrants in the input as context, and ignores other kinds. It applies mutations first, as the webhook does, and reports them. A
rule that depends on an object that is not in the input is reported as unknown, unless --cluster looks the object up or --complete
declares the input complete.

Exit codes: 0 if no finding reaches the severity set by --fail-on, 1 if a finding does, 2 if the usage is invalid or input cannot be
read.`

const checkExamples = `  # Check a directory, recursively
  gammaguard check -f manifests/

  # Check what kustomize builds
  gammaguard check -k overlays/production

  # Check standard input, and look up missing objects in the live cluster
  helm template shop | gammaguard check -f - --cluster

  # Treat the input as complete: an object that is not in it does not exist
  gammaguard check -f manifests/ --complete --config guard.yaml

  # Check only what a change introduces, as the webhook does for updates
  gammaguard check -f manifests/ --base main/manifests/

  # Write SARIF for code scanning, and fail on warnings too
  gammaguard check -f manifests/ -o sarif --fail-on warn > gammaguard.sarif

  # Write mutations to the files
  gammaguard check -f manifests/ --fix`

func newCheck() *cobra.Command {
	flags := &checkFlags{output: "text", failOn: string(validate.Deny)}
	flags.options.Channel = definitions.Standard
	cmd := &cobra.Command{
		Use:     "check (-f PATH | -k FOLDER | PATH)...",
		Short:   "Check routes in manifests",
		Long:    checkLong,
		Example: checkExamples,
		RunE:    func(cmd *cobra.Command, args []string) error { return flags.run(cmd, args) },
	}
	set := cmd.Flags()
	set.StringSliceVarP(&flags.options.Files, "filename", "f", nil, "files or directories to check; - reads standard input")
	set.StringSliceVarP(&flags.options.Kustomizations, "kustomize", "k", nil, "directories to build with kustomize and check")
	set.StringSliceVar(&flags.options.Base, "base", nil, "files or directories with objects that already exist; they are not checked, and a route that is also in the input is checked as an update")
	set.BoolVar(&flags.cluster, "cluster", false, "look up objects that are not in the input in the live cluster; the command only reads")
	addChoice(cmd, (*string)(&flags.options.Channel), "channel", "", "release channel of the Gateway API whose CustomResourceDefinitions routes are checked against: standard or experimental", string(definitions.Standard), string(definitions.Experimental))
	set.StringSliceVar(&flags.options.CRDs, "crds", nil, "files or directories with CustomResourceDefinitions of routes, which replace those of the channel")
	set.BoolVar(&flags.options.Complete, "complete", false, "treat the input as complete: an object that is not in it does not exist")
	set.BoolVar(&flags.options.Strict, "strict", false, "treat unknown as an error")
	addChoice(cmd, &flags.failOn, "fail-on", "", "minimum severity that fails the check: deny, warn (includes mutations), audit, or never", report.FailOn...)
	addChoice(cmd, &flags.output, "output", "o", "output format: text, json, sarif, or github", "text", "json", "sarif", "github")
	set.BoolVar(&flags.options.Fix, "fix", false, "write mutations to the files, and leave the rest of each file unchanged")
	flags.access = addAccess(cmd)
	set.Lookup("namespace").Usage = "namespace of objects that do not set one; if empty, \"default\", or the namespace of the current context with --cluster"
	set.Lookup("as").Usage += " Exemptions in the configuration apply to this user."
	set.Lookup("as-group").Usage += " Exemptions in the configuration apply to this group."
	return cmd
}

func (f *checkFlags) run(cmd *cobra.Command, args []string) (err error) {
	options := &f.options
	options.Files = append(options.Files, args...)
	options.Stdin = cmd.InOrStdin()
	if err := f.validate(cmd); err != nil {
		return fmt.Errorf("%w\nSee '%s --help' for usage", err, cmd.CommandPath())
	}
	if options.Config, err = f.access.configuration(); err != nil {
		return err
	}
	options.User = validate.User{Name: *f.access.Impersonate, Groups: *f.access.ImpersonateGroup}
	options.Namespace = *f.access.Namespace
	if f.cluster {
		if options.Cluster, options.Namespace, err = f.access.connect(cmd.Context()); err != nil {
			return err
		}
	}
	result, err := check.Run(cmd.Context(), options)
	if result == nil {
		return err
	}
	if err := errors.Join(f.write(result, cmd.OutOrStdout()), err); err != nil {
		return err
	}
	if result.Fails(f.failOn) {
		return errFindings
	}
	return nil
}

func (f *checkFlags) validate(cmd *cobra.Command) error {
	names := slices.Concat(f.options.Files, f.options.Base)
	stdin := slices.Index(names, check.Stdin)
	switch {
	case len(f.options.Files)+len(f.options.Kustomizations) == 0:
		return errors.New("nothing to check: specify files or directories with -f or -k")
	case stdin >= 0 && slices.Contains(names[stdin+1:], check.Stdin):
		return errors.New("standard input can be read only once")
	case f.cluster && f.options.Complete:
		return errors.New("--cluster and --complete cannot be used together")
	case f.options.Fix && (len(f.options.Kustomizations) > 0 || slices.Contains(f.options.Files, check.Stdin)):
		return errors.New("--fix cannot be used with standard input or -k; specify the source files with -f")
	case !f.cluster:
		return f.access.unused(cmd.Flags())
	}
	return nil
}

func (f *checkFlags) write(r *report.CheckReport, w io.Writer) error {
	switch f.output {
	case "json":
		return writeJSON(w, r)
	case "sarif":
		return r.SARIF(w, version())
	case "github":
		return r.GitHub(w)
	}
	return r.Text(w, colourful(w))
}

// colourful reports whether the output is a terminal whose user wants colours
// (https://no-color.org).
func colourful(w io.Writer) bool {
	file, ok := w.(*os.File)
	return ok && term.IsTerminal(int(file.Fd())) && os.Getenv("NO_COLOR") == "" && os.Getenv("TERM") != "dumb"
}
