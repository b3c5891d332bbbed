package command

import (
	"context"
	"errors"
	"fmt"
	"io"
	"log"
	"net/url"
	"os"
	"os/signal"
	"path/filepath"
	"slices"
	"strings"
	"syscall"

	"github.com/spf13/cobra"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/cli-runtime/pkg/genericiooptions"

	"github.com/gammaguard/gammaguard/internal/printable"
)

// The exit codes.
const (
	ExitClean    = 0
	ExitFindings = 1
	// ExitUsage: wrong use, or input that cannot be read.
	ExitUsage = 2
	// What else 'preflight --installed' finds.
	ExitNotEnforcing, ExitNotAnswering, ExitNotRegistered = 3, 4, 5
)

// errFindings makes the command exit with ExitFindings and say nothing more.
var errFindings = errors.New("findings")

// exitCode makes the command exit with it and say nothing more.
type exitCode int

func (e exitCode) Error() string { return fmt.Sprintf("exit code %d", int(e)) }

// Main runs the command line and returns the exit code.
func Main(args []string, stdin io.Reader, stdout, stderr io.Writer) int {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	defer stop()
	context.AfterFunc(ctx, stop) // a second signal ends what does not heed the first
	root := New(filepath.Base(args[0]), genericiooptions.IOStreams{In: stdin, Out: stdout, ErrOut: stderr})
	root.SetArgs(args[1:])
	log.SetOutput(root.ErrOrStderr()) // libraries log what they find in charts
	defer flush(root.OutOrStdout(), root.ErrOrStderr())
	root.PersistentPreRun = func(cmd *cobra.Command, _ []string) {
		if limited(cmd) {
			ofRepositories.enforce(exit(stderr, os.Exit))
		}
	}
	var code exitCode
	switch cmd, err := root.ExecuteContextC(ctx); {
	case err == nil:
		return ExitClean
	case errors.As(err, &code):
		return int(code)
	case errors.Is(err, errFindings):
		return ExitFindings
	default:
		printError(root.ErrOrStderr(), unreached(cmd, suggest(root, args[1:], err)))
		return ExitUsage
	}
}

// flush writes what the ends of outputs hold back.
func flush(outputs ...io.Writer) {
	for _, out := range outputs {
		if end, ok := out.(*printable.Writer); ok {
			_ = end.Flush() // there is nobody left to be told
		}
	}
}

// suggest adds to an error about an unknown command which ones may be meant.
func suggest(root *cobra.Command, args []string, err error) error {
	_, _, unknown := root.Find(args)
	first := slices.IndexFunc(args, func(arg string) bool { return !strings.HasPrefix(arg, "-") })
	if unknown == nil || first < 0 || err.Error() != unknown.Error() {
		return err
	}
	return fmt.Errorf("%w%s", err, meant(root, args[first]))
}

// meant asks whether a command of the parent is meant; it is empty if none has a name like that.
func meant(parent *cobra.Command, name string) string {
	if parent.SuggestionsMinimumDistance <= 0 {
		parent.SuggestionsMinimumDistance = 2
	}
	near := parent.SuggestionsFor(name)
	if len(near) == 0 {
		return ""
	}
	return "; did you mean " + strings.Join(near, " or ") + "?"
}

// unreached adds to an error about a connection to a cluster, or of one that does not know the user, what to do about it.
func unreached(cmd *cobra.Command, err error) error {
	failed, ok := errors.AsType[*url.Error](err)
	ok = ok && failed.Op != "parse"
	if !ok && !apierrors.IsUnauthorized(err) {
		return err
	}
	remedy := ""
	set := cmd.Flags()
	switch {
	case set.Changed("cluster"):
		remedy = ", or leave out --cluster"
	case set.Lookup("filename") != nil:
		remedy = ", or use -f, -k, or --helm to read files"
	case cmd.Name() == "audit":
		remedy = "; to check files, use gammaguard check"
	}
	if !ok {
		return fmt.Errorf("the cluster does not accept your credentials; log in again, or specify others with --kubeconfig or --context%s", remedy)
	}
	at := ""
	if server, err := url.Parse(failed.URL); err == nil {
		at = " at " + server.Scheme + "://" + server.Host
	}
	if at == " at http://localhost:8080" && !set.Changed("server") { // what clients take without any kubeconfig
		return fmt.Errorf("no kubeconfig names a cluster, and there is none%s; specify one with KUBECONFIG, --kubeconfig, or --context%s", at, remedy)
	}
	return fmt.Errorf("cannot reach the cluster%s: %w; specify one with --kubeconfig or --context%s", at, failed.Err, remedy)
}

// New returns the root command for a program of that name.
func New(program string, streams genericiooptions.IOStreams) *cobra.Command {
	name, printed := displayName(program), false
	root := &cobra.Command{
		Use:   "gammaguard",
		Short: "Check Gateway API mesh routes before you apply them",
		Long: "gammaguard checks Gateway API routes whose parent is a Service (GAMMA) against the rules of its admission webhook,\n" +
			"in manifests without a cluster, or against a live cluster.",
		Annotations:       map[string]string{cobra.CommandDisplayNameAnnotation: name},
		SilenceErrors:     true,
		SilenceUsage:      true,
		DisableAutoGenTag: true,
		// See suggest: cobra's own are lines in the middle of an error.
		DisableSuggestions:         true,
		SuggestionsMinimumDistance: 2,
		// Without it cobra would take no arguments as a call for help that succeeds.
		RunE: func(cmd *cobra.Command, _ []string) error {
			if printed {
				return printVersion(cmd, "")
			}
			return errors.Join(cmd.Help(), errors.New("a command is required"))
		},
	}
	root.Flags().BoolVar(&printed, "version", false, "print the version and exit")
	root.SetIn(streams.In)
	root.SetOut(streams.Out) // where the scripts of completion end, in which each character is the program's own
	root.SetErr(printable.NewWriter(streams.ErrOut, isTerminal(streams.ErrOut)))
	root.SetFlagErrorFunc(usage)
	listConnectionLast(root)
	root.AddCommand(newAudit(), newCheck(), newConflicts(), newDescribe(), newDetectMesh(), newDiff(), newExplain(), newGraph(), newGrants(), newLSP(), newPolicy(), newPreflight(), newStatus(), newTest(), newTrace(), newVerify(), newVersion())
	nameExamples(root, name)
	root.InitDefaultCompletionCmd()
	// Whatever a command writes for people ends here.
	root.SetOut(printable.NewWriter(streams.Out, isTerminal(streams.Out)))
	plainHelp(root)
	return root
}

// plainHelp takes the marks of Markdown headings, which cobra's texts about completion have, out of the help.
func plainHelp(cmd *cobra.Command) {
	cmd.Long = strings.ReplaceAll(cmd.Long, "#### ", "")
	for _, child := range cmd.Commands() {
		plainHelp(child)
	}
}

// usage returns an error about the use of a command, which says where its use is described.
func usage(cmd *cobra.Command, err error) error {
	return errors.Join(err, usageHint(cmd.CommandPath()))
}

// noArguments refuses arguments, and names what may be meant by one.
func noArguments(cmd *cobra.Command, args []string) error {
	switch {
	case len(args) == 0:
		return nil
	case cmd.HasSubCommands():
		how := meant(cmd, args[0])
		if how == "" && cmd.Flags().Lookup("namespace") != nil {
			how = "; to specify a namespace, use -n"
		}
		return usage(cmd, fmt.Errorf("unknown command %q for %q%s", args[0], cmd.CommandPath(), how))
	case cmd.Flags().Lookup("namespace") != nil:
		how := "specify a namespace with -n"
		if cmd.Flags().Lookup("filename") != nil {
			how += ", or files with -f"
		}
		return usage(cmd, fmt.Errorf("the command takes no arguments, such as %q; %s", args[0], how))
	}
	return usage(cmd, fmt.Errorf("the command takes no arguments, such as %q", args[0]))
}

// usageHint says where the use of a command is described.
type usageHint string

// Error is a sentence of its own.
func (h usageHint) Error() string { return "See '" + string(h) + " --help' for usage" }

// printError writes an error, and, if it was joined of several, each on a line of its own.
func printError(w io.Writer, err error) {
	text := printable.Error(err)
	hint, hinted := errors.AsType[usageHint](err)
	if hinted {
		text = strings.TrimSuffix(text, "\n"+printable.Error(hint))
	}
	for line := range strings.SplitSeq(text, "\n") {
		printable.Fprintf(w, "error: %s\n", printable.Layout(line))
	}
	if hinted {
		printable.Fprintf(w, "%s\n", hint)
	}
}

// nameExamples has the examples of all commands call the program by its name.
func nameExamples(cmd *cobra.Command, name string) {
	cmd.Example = strings.ReplaceAll(cmd.Example, "gammaguard ", name+" ")
	for _, child := range cmd.Commands() {
		nameExamples(child, name)
	}
}

// displayName is how one calls the program: kubectl runs its plugins by a name of
// their own.
func displayName(program string) string {
	program = strings.TrimSuffix(program, ".exe")
	if plugin, ok := strings.CutPrefix(program, "kubectl-"); ok {
		return "kubectl " + strings.ReplaceAll(plugin, "_", "-")
	}
	return "gammaguard"
}
