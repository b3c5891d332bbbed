package command

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/signal"
	"path/filepath"
	"strings"
	"syscall"

	"github.com/spf13/cobra"
	"k8s.io/cli-runtime/pkg/genericiooptions"
)

// The exit codes.
const (
	ExitClean    = 0
	ExitFindings = 1
	// ExitUsage: wrong use, or input that cannot be read.
	ExitUsage = 2
)

// errFindings makes the command exit with ExitFindings and say nothing more.
var errFindings = errors.New("findings")

// Main runs the command line and returns the exit code.
func Main(args []string, stdin io.Reader, stdout, stderr io.Writer) int {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	defer stop()
	context.AfterFunc(ctx, stop) // a second signal ends what does not heed the first
	root := New(filepath.Base(args[0]), genericiooptions.IOStreams{In: stdin, Out: stdout, ErrOut: stderr})
	root.SetArgs(args[1:])
	switch err := root.ExecuteContext(ctx); {
	case err == nil:
		return ExitClean
	case errors.Is(err, errFindings):
		return ExitFindings
	default:
		fmt.Fprintf(stderr, "error: %v\n", err)
		return ExitUsage
	}
}

// New returns the root command for a program of that name.
func New(program string, streams genericiooptions.IOStreams) *cobra.Command {
	name := displayName(program)
	root := &cobra.Command{
		Use:   "gammaguard",
		Short: "Check Gateway API mesh routes before you apply them",
		Long: "gammaguard checks Gateway API routes whose parent is a Service (GAMMA) against the rules of its admission webhook,\n" +
			"in manifests without a cluster, or against a live cluster.",
		Annotations:       map[string]string{cobra.CommandDisplayNameAnnotation: name},
		SilenceErrors:     true,
		SilenceUsage:      true,
		DisableAutoGenTag: true,
		// Without it cobra would take no arguments as a call for help that succeeds.
		RunE: func(cmd *cobra.Command, _ []string) error {
			return errors.Join(cmd.Help(), errors.New("a command is required"))
		},
	}
	root.SetIn(streams.In)
	root.SetOut(streams.Out)
	root.SetErr(streams.ErrOut)
	root.SetFlagErrorFunc(func(cmd *cobra.Command, err error) error {
		return fmt.Errorf("%w\nSee '%s --help' for usage", err, cmd.CommandPath())
	})
	root.AddCommand(newAudit(), newCheck(), newConflicts(), newDescribe(), newDetectMesh(), newDiff(), newExplain(), newGraph(), newGrants(), newLSP(), newPreflight(), newStatus(), newTrace(), newVersion())
	nameExamples(root, name)
	root.InitDefaultCompletionCmd()
	return root
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
