package command

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"github.com/gammaguard/gammaguard/config"
	"github.com/gammaguard/gammaguard/internal/cli/check"
	"github.com/gammaguard/gammaguard/internal/cli/expect"
	"github.com/gammaguard/gammaguard/internal/cli/report"
	"github.com/gammaguard/gammaguard/internal/cli/repository"
	"github.com/gammaguard/gammaguard/internal/cli/revision"
	"github.com/gammaguard/gammaguard/internal/cli/sets"
	"github.com/gammaguard/gammaguard/internal/cli/source"
	"github.com/gammaguard/gammaguard/internal/printable"
)

// testFlags are the flags of the test command.
type testFlags struct {
	inputFlags
	initialize bool
	config     configuration
	meshes     []string
	outputs    outputs
	// given: flags name the input.
	given bool
}

const testLong = `Run tests of traffic: files of requests, each with what it must meet, such as a backend, a status, or what it met in a git revision. The
command computes what each request meets from the manifests, as gammaguard trace does, and needs no cluster.

Each PATH is a file, a pattern of files, or a directory, in which files named ` + expect.FileName + ` or *.` + expect.FileName + ` (or .yml) are
found, recursively. The default is the current directory. Each file names its manifests in the field input, relative to the file; without that
field, they are the manifests in the directory of the file. With -f, -k, or --helm, all tests run over that input instead.
The configuration and the context of .gammaguard.yaml apply, as in gammaguard check: the one of the input that flags name, or of the first PATH.

With --init, the command writes a file with a test for each class of requests, by today's routes. All of its tests pass until a change of
the routes sends a request somewhere else. The default PATH is then ` + expect.FileName + `, and the manifests are those in its directory unless
-f, -k, or --helm names others. A file that exists is not overwritten; - writes to standard output.

With --mesh, each test runs once for each mesh, except tests that are meant for other meshes only.

A test whose field input names what cannot be read or built fails, and the others run.

Exit codes: 0 if all tests pass, 1 if a test fails, 2 if the usage is invalid or files of tests cannot be read.`

const testExamples = `  # Run the tests below the current directory
  gammaguard test

  # Write a test for each class of requests to the routes in a directory
  gammaguard test --init manifests/gammaguard-test.yaml

  # Run the tests in a directory over what kustomize builds
  gammaguard test tests/ -k overlays/production

  # Run each test under two meshes
  gammaguard test --mesh istio,linkerd

  # Write JUnit for a CI system, in addition to text
  gammaguard test -o text -o junit=gammaguard.xml`

func newTest() *cobra.Command {
	flags := &testFlags{}
	cmd := &cobra.Command{
		Use:     "test [PATH...] [(-f PATH | -k DIRECTORY | --helm CHART)...]",
		Short:   "Run tests of what requests meet",
		Long:    testLong,
		Example: testExamples,
		RunE:    func(cmd *cobra.Command, args []string) error { return flags.run(cmd, args) },
	}
	set := cmd.Flags()
	flags.add(cmd)
	set.BoolVar(&flags.initialize, "init", false, "write a file with a test for each class of requests, by today's routes")
	set.StringVarP(&flags.options.Namespace, "namespace", "n", "", namespaceUsage+"\"default\"")
	addConfigFile(cmd, &flags.config, projectConfiguration)
	addMesh(cmd, &meshNames{names: &flags.config.mesh, several: true}, "several, separated by commas, run each test under each; if empty, those that the test names, or else that of the configuration")
	addOutputs(cmd, &flags.outputs, reportFormats)
	return cmd
}

func (f *testFlags) run(cmd *cobra.Command, args []string) (err error) {
	if f.config.mesh != "" {
		f.meshes = strings.Split(f.config.mesh, ",")
	}
	if err := f.validate(args); err != nil {
		return usage(cmd, err)
	}
	f.options.Stdin, f.options.Alone, f.options.Anywhere = cmd.InOrStdin(), true, true
	paths := args
	if f.given && !f.initialize { // else the file names the input, when it is run
		paths = nil
	}
	given, start := f.config, f.start(paths...)
	if _, err := f.project(&f.config, paths...); err != nil {
		return err
	}
	if f.initialize {
		path := cmp.Or(append(args, expect.FileName)[0], expect.FileName)
		if info, err := os.Stat(path); err == nil && info.IsDir() || os.IsPathSeparator(path[len(path)-1]) {
			path = filepath.Join(path, expect.FileName)
		}
		return f.write(cmd, path)
	}
	if len(args) == 0 {
		args = []string{"."}
	}
	files, notes, err := expect.Find(args)
	if err != nil {
		return err
	}
	report, err := expect.Run(cmd.Context(), &expect.Options{
		Input: f.options, Given: f.given, Meshes: f.meshes, Flags: again(cmd, judging, "mesh"), Configuration: f.configured,
		Adopt: func(tree *revision.Tree, then *check.Options, mesh string) error {
			path, err := tree.Path(start)
			if err != nil {
				return err
			}
			_, err = adopt(configuration{path: given.path, mesh: mesh}, tree.Root(), path, then)
			return err
		},
	}, files)
	if err != nil {
		return err
	}
	report.Notes = append(report.Notes, notes...)
	if err := f.outputs.writeReport(report, "", cmd.OutOrStdout()); err != nil {
		return err
	}
	if report.Summary.Failed > 0 {
		return errFindings
	}
	return nil
}

// configured returns the configuration, with the mesh if there is one.
func (f *testFlags) configured(mesh string) (*config.GuardConfiguration, error) {
	of := configuration{path: f.config.path, mesh: mesh}
	return of.load()
}

func (f *testFlags) validate(args []string) (err error) {
	f.given, err = f.complete()
	stdin := 0
	for _, name := range f.options.Files {
		if name == source.Stdin {
			stdin++
		}
	}
	switch {
	case err != nil:
		return err
	case !f.initialize && slices.Contains(args, source.Stdin):
		return errors.New("tests cannot be read from standard input; specify files")
	case stdin > 1 || stdin == 1 && len(f.meshes) > 1:
		return errors.New("standard input can be read only once")
	case !f.initialize:
		return nil
	case len(args) > 1:
		return errors.New("--init writes one file")
	case len(f.meshes) > 1:
		return errors.New("--init takes one mesh at most")
	case len(f.outputs.named) > 0:
		return errors.New("--init cannot be used with -o")
	case len(f.options.Kustomizations)+len(f.options.Charts) > 1 || len(f.options.Kustomizations)+len(f.options.Charts) == 1 && len(f.options.Files) > 0:
		return errors.New("--init takes one kustomization, one chart, or files")
	}
	return nil
}

// write writes a file of tests, by today's routes.
func (f *testFlags) write(cmd *cobra.Command, path string) error {
	if err := repository.HasFolder(path); err != nil {
		return err
	}
	input := &f.options
	if !f.given {
		set, err := sets.NamedBy(f.options.Root, path, "input", nil)
		if err != nil {
			return err
		}
		input = f.options.Over(set)
	}
	mesh := strings.Join(f.meshes, "")
	var err error
	if input.Config, err = f.configured(mesh); err != nil {
		return err
	}
	if _, err := os.Lstat(path); path != source.Stdin && !errors.Is(err, fs.ErrNotExist) {
		return fmt.Errorf("%s exists, and is not overwritten; remove it, or specify another file", path)
	}
	text, tests, err := f.today(cmd.Context(), cmd, input, path, mesh)
	if err != nil {
		return err
	}
	if path == source.Stdin {
		_, err := cmd.OutOrStdout().Write(text)
		return err
	}
	file, err := repository.Create(path)
	if err != nil {
		return err
	}
	_, err = file.Write(text)
	if err := errors.Join(err, file.Close()); err != nil {
		return err
	}
	words := append([]string{printable.Shell(path)}, again(cmd, judging, "mesh")...) // the file names the mesh and the input
	_, err = printable.Fprintf(cmd.OutOrStdout(), "Wrote %s to %s. To run: gammaguard test %s\n", printable.Layout(report.Count(tests, "test", "tests")), path, strings.Join(words, " "))
	return err
}

// today returns the text of the file, and how many tests it has.
func (f *testFlags) today(ctx context.Context, cmd *cobra.Command, input *check.Options, path, mesh string) (text []byte, tests int, err error) {
	now, err := check.LoadTraffic(ctx, input)
	if err != nil {
		return nil, 0, err
	}
	text, tests, notes, err := expect.Write(input, now, path, mesh)
	writeNotes(cmd, append(notes, now.Notes()...))
	return text, tests, err
}
