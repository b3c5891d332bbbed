package command

import (
	"cmp"
	"errors"
	"fmt"
	"io"
	"os"
	"runtime/debug"
	"slices"
	"strings"

	"github.com/spf13/cobra"
	"golang.org/x/term"
	"k8s.io/cli-runtime/pkg/genericiooptions"

	"github.com/gammaguard/gammaguard/check"
	"github.com/gammaguard/gammaguard/check/cluster"
	"github.com/gammaguard/gammaguard/check/explain"
	"github.com/gammaguard/gammaguard/check/report"
	"github.com/gammaguard/gammaguard/config"
	"github.com/gammaguard/gammaguard/validate"
)

// checkFlags are the flags of the check command.
type checkFlags struct {
	options check.Options
	config  string
	output  string
	failOn  string
	cluster bool
	access  *access
}

// outputs are the values of check's --output.
var outputs = []string{"text", "json", "sarif", "github"}

const checkLong = `Judge the routes in files by the rules of the admission webhook, before anything is applied: the same engine, the same rule IDs,
the same words, with file and line.

All files are read first, and all routes are judged together. Documents of other kinds (Services, Namespaces, ServiceImports,
EndpointSlices, ReferenceGrants) are read for what they say about the routes, or passed over. Mutations are made first, as in the
cluster, and reported. What no file holds is unknown, unless --cluster looks it up or --complete says that there is nothing else.

Exit codes: 0 if nothing is found that --fail-on names, 1 if something is, 2 for wrong use or input that cannot be read.`

const checkExamples = `  # A folder, recursively
  %[1]s check -f manifests/

  # What kustomize builds
  %[1]s check -k overlays/production

  # Standard input, with what the live cluster knows besides
  helm template shop | %[1]s check -f - --cluster

  # Every file of the cluster in one folder: what is not there does not exist
  %[1]s check -f manifests/ --complete --config guard.yaml

  # Only what a change brings in, as the webhook judges updates
  %[1]s check -f manifests/ --base main/manifests/

  # For code scanning; warnings fail too
  %[1]s check -f manifests/ -o sarif --fail-on warn > gammaguard.sarif

  # Write the mutations into the files
  %[1]s check -f manifests/ --fix
`

func newCheck(streams genericiooptions.IOStreams, name string) *cobra.Command {
	flags := &checkFlags{access: newAccess()}
	cmd := &cobra.Command{
		Use:     "check (-f PATH | -k FOLDER | PATH)...",
		Short:   "Judge routes in files as the webhook would",
		Long:    checkLong,
		Example: examples(name, checkExamples),
		RunE: func(cmd *cobra.Command, args []string) error {
			return flags.run(cmd, args, streams)
		},
	}
	set := cmd.Flags()
	set.StringSliceVarP(&flags.options.Files, "filename", "f", nil, "files or folders to judge, - for standard input")
	set.StringSliceVarP(&flags.options.Kustomizations, "kustomize", "k", nil, "folders that kustomize is to build, to be judged")
	set.StringSliceVar(&flags.options.Base, "base", nil, "files or folders with what is in the cluster already: not judged; a route that is there too is judged as an update of it")
	set.BoolVar(&flags.cluster, "cluster", false, "look up in the live cluster what the files do not hold; it is only read")
	set.BoolVar(&flags.options.Complete, "complete", false, "take the files for everything there is: what is in none of them does not exist")
	set.BoolVar(&flags.options.Strict, "strict", false, "make an error of what is unknown")
	set.StringVar(&flags.config, "config", "", "GuardConfiguration to judge by, as the webhook's --config; the default one if empty")
	set.StringVar(&flags.failOn, "fail-on", string(report.FailOnDeny), "the mildest finding to fail on: deny, warn (mutations too), audit or never")
	set.StringVarP(&flags.output, "output", "o", "text", "text, json, sarif or github")
	set.BoolVar(&flags.options.Fix, "fix", false, "write the mutations back into the files, and change nothing else in them")
	flags.access.addTo(set)
	set.Lookup("namespace").Usage = "namespace of objects that name none; \"default\", or that of the context with --cluster, if empty"
	set.Lookup("as").Usage += " Exemptions of the configuration are judged for it."
	set.Lookup("as-group").Usage += " Exemptions of the configuration are judged for it."
	completeWords(cmd, "output", outputs...)
	completeWords(cmd, "fail-on", failOns()...)
	return cmd
}

func failOns() []string {
	var words []string
	for _, on := range report.FailOns() {
		words = append(words, string(on))
	}
	return words
}

func (f *checkFlags) run(cmd *cobra.Command, args []string, streams genericiooptions.IOStreams) error {
	options := &f.options
	options.Files = append(options.Files, args...)
	options.Stdin = streams.In
	if err := f.validate(cmd); err != nil {
		return fmt.Errorf("%w\nsee '%s --help'", err, cmd.CommandPath())
	}
	if f.config != "" {
		var err error
		if options.Config, err = config.LoadFile(f.config); err != nil {
			return err
		}
	}
	options.User = validate.User{Name: *f.access.flags.Impersonate, Groups: *f.access.flags.ImpersonateGroup}
	options.Namespace = *f.access.flags.Namespace
	if f.cluster {
		live, err := cluster.Connect(cmd.Context(), f.access.flags)
		if err != nil {
			return err
		}
		options.Cluster = live
		if options.Namespace, _, err = f.access.flags.ToRawKubeConfigLoader().Namespace(); err != nil {
			return err
		}
	}
	options.Namespace = cmp.Or(options.Namespace, "default")
	result, err := check.Run(cmd.Context(), options)
	if result == nil {
		return err
	}
	if err := errors.Join(f.write(result, streams.Out), err); err != nil {
		return err
	}
	if result.Fails(report.FailOn(f.failOn)) {
		return errFindings
	}
	return nil
}

func (f *checkFlags) validate(cmd *cobra.Command) error {
	inputs := len(f.options.Files) + len(f.options.Kustomizations)
	stdin := 0
	for _, name := range append(slices.Clone(f.options.Files), f.options.Base...) {
		if name == check.Stdin {
			stdin++
		}
	}
	switch {
	case inputs == 0:
		return errors.New("nothing to check: name files or folders by -f or -k")
	case stdin > 1:
		return errors.New("standard input can be read only once")
	case !slices.Contains(outputs, f.output):
		return fmt.Errorf("--output %q: want one of %s", f.output, strings.Join(outputs, ", "))
	case !slices.Contains(report.FailOns(), report.FailOn(f.failOn)):
		return fmt.Errorf("--fail-on %q: want one of %s", f.failOn, strings.Join(failOns(), ", "))
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
		return r.JSON(w)
	case "sarif":
		return r.SARIF(w, tool())
	case "github":
		return r.GitHub(w)
	}
	return r.Text(w, colourful(w))
}

// tool describes the program and all that it may find.
func tool() report.Tool {
	number, _ := versionOf(debug.ReadBuildInfo())
	t := report.Tool{Version: number}
	for _, topic := range explain.Topics() {
		effect := report.Effect(topic.Default)
		if topic.Class == explain.Mutation {
			effect = report.EffectWarn
		}
		t.Descriptors = append(t.Descriptors, report.Descriptor{
			ID: topic.ID, Title: topic.Title, Rationale: topic.Rationale, Remedy: topic.Remedy, Default: effect,
		})
	}
	return t
}

// colourful says whether the output is a terminal whose user wants colours
// (https://no-color.org).
func colourful(w io.Writer) bool {
	file, ok := w.(*os.File)
	return ok && term.IsTerminal(int(file.Fd())) && os.Getenv("NO_COLOR") == "" && os.Getenv("TERM") != "dumb"
}
