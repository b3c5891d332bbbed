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

const checkLong = `Judge the routes in files by the rules of the admission webhook, before anything is applied: the same engine, the same rule IDs,
the same words, with file and line.

All files are read first, and all routes are judged together. Documents of other kinds (Services, Namespaces, ServiceImports,
EndpointSlices, ReferenceGrants) are read for what they say about the routes, or passed over. Mutations are made first, as in the
cluster, and reported. What no file holds is unknown, unless --cluster looks it up or --complete says that there is nothing else.

Exit codes: 0 if nothing is found that --fail-on names, 1 if something is, 2 for wrong use or input that cannot be read.`

const checkExamples = `  # A folder, recursively
  gammaguard check -f manifests/

  # What kustomize builds
  gammaguard check -k overlays/production

  # Standard input, with what the live cluster knows besides
  helm template shop | gammaguard check -f - --cluster

  # Every file of the cluster in one folder: what is not there does not exist
  gammaguard check -f manifests/ --complete --config guard.yaml

  # Only what a change brings in, as the webhook judges updates
  gammaguard check -f manifests/ --base main/manifests/

  # For code scanning; warnings fail too
  gammaguard check -f manifests/ -o sarif --fail-on warn > gammaguard.sarif

  # Write the mutations into the files
  gammaguard check -f manifests/ --fix`

func newCheck() *cobra.Command {
	flags := &checkFlags{output: "text", failOn: string(validate.Deny)}
	cmd := &cobra.Command{
		Use:     "check (-f PATH | -k FOLDER | PATH)...",
		Short:   "Judge routes in files as the webhook would",
		Long:    checkLong,
		Example: checkExamples,
		RunE:    func(cmd *cobra.Command, args []string) error { return flags.run(cmd, args) },
	}
	set := cmd.Flags()
	set.StringSliceVarP(&flags.options.Files, "filename", "f", nil, "files or folders to judge, - for standard input")
	set.StringSliceVarP(&flags.options.Kustomizations, "kustomize", "k", nil, "folders that kustomize is to build, to be judged")
	set.StringSliceVar(&flags.options.Base, "base", nil, "files or folders with what is in the cluster already: not judged; a route that is there too is judged as an update of it")
	set.BoolVar(&flags.cluster, "cluster", false, "look up in the live cluster what the files do not hold; it is only read")
	set.BoolVar(&flags.options.Complete, "complete", false, "take the files for everything there is: what is in none of them does not exist")
	set.BoolVar(&flags.options.Strict, "strict", false, "make an error of what is unknown")
	addChoice(cmd, &flags.failOn, "fail-on", "", "the mildest finding to fail on: deny, warn (mutations too), audit or never", report.FailOn...)
	addChoice(cmd, &flags.output, "output", "o", "text, json, sarif or github", "text", "json", "sarif", "github")
	set.BoolVar(&flags.options.Fix, "fix", false, "write the mutations back into the files, and change nothing else in them")
	flags.access = addAccess(cmd)
	set.Lookup("namespace").Usage = "namespace of objects that name none; \"default\", or that of the context with --cluster, if empty"
	set.Lookup("as").Usage += " Exemptions of the configuration are judged for it."
	set.Lookup("as-group").Usage += " Exemptions of the configuration are judged for it."
	return cmd
}

func (f *checkFlags) run(cmd *cobra.Command, args []string) (err error) {
	options := &f.options
	options.Files = append(options.Files, args...)
	options.Stdin = cmd.InOrStdin()
	if err := f.validate(cmd); err != nil {
		return fmt.Errorf("%w\nsee '%s --help'", err, cmd.CommandPath())
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
		return errors.New("nothing to check: name files or folders by -f or -k")
	case stdin >= 0 && slices.Contains(names[stdin+1:], check.Stdin):
		return errors.New("standard input can be read only once")
	case f.cluster && f.options.Complete:
		return errors.New("--cluster and --complete exclude each other: the files cannot be everything and the cluster more")
	case f.options.Fix && (len(f.options.Kustomizations) > 0 || slices.Contains(f.options.Files, check.Stdin)):
		return errors.New("--fix writes into files: it works neither on standard input nor on what kustomize builds; fix the files that it builds from")
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

// colourful says whether the output is a terminal whose user wants colours
// (https://no-color.org).
func colourful(w io.Writer) bool {
	file, ok := w.(*os.File)
	return ok && term.IsTerminal(int(file.Fd())) && os.Getenv("NO_COLOR") == "" && os.Getenv("TERM") != "dumb"
}
