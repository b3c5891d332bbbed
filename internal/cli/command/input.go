package command

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"github.com/gammaguard/gammaguard/internal/cli/build"
	"github.com/gammaguard/gammaguard/internal/cli/check"
	"github.com/gammaguard/gammaguard/internal/cli/revision"
	"github.com/gammaguard/gammaguard/internal/cli/sets"
	"github.com/gammaguard/gammaguard/internal/cli/source"
	"github.com/gammaguard/gammaguard/internal/definitions"
)

// inputFlags are the flags that name the files of the input, and what is done with them.
type inputFlags struct {
	options check.Options
	chart   source.Chart
}

// add adds the flags.
func (f *inputFlags) add(cmd *cobra.Command) {
	set, options := cmd.Flags(), &f.options
	addPaths(set, &options.Files, "filename", "f", "files or directories to read, recursively, without building kustomizations and charts; - reads standard input")
	addPaths(set, &options.Kustomizations, "kustomize", "k", "directories to build with kustomize and to read")
	set.StringVar(&f.chart.Path, "helm", "", "directory of a Helm chart to render and to read; no cluster is used")
	refuseEmpty(set.Lookup("helm"))
	addPaths(set, &f.chart.Values, "values", "", "values files for --helm; the last one takes precedence")
	set.BoolVar(&options.AllowRemote, "allow-remote", false, "let kustomize fetch remote bases and files: it then runs git, connects, and reads what it fetches; not for repositories that you do not trust")
	set.DurationVar(&options.BuildTimeout, "build-timeout", build.DefaultLimit, "how long building one kustomization or chart can take")
	addDefinitions(cmd, options)
}

// addPaths adds a flag that names files or directories.
func addPaths(set *pflag.FlagSet, paths *[]string, name, shorthand, usage string) {
	set.StringSliceVarP(paths, name, shorthand, nil, usage)
	refuseEmpty(set.Lookup(name))
}

// refuseEmpty has a flag that names the input refuse an empty value: without the flag, a command takes another input.
func refuseEmpty(flag *pflag.Flag) {
	flag.DefValue = "" // help shows another default of a type that it does not know
	path := pathValue{flag.Value}
	if several, is := flag.Value.(pflag.SliceValue); is {
		flag.Value = struct {
			pathValue
			pflag.SliceValue
		}{path, several}
		return
	}
	flag.Value = path
}

// pathValue is the value of a flag that cannot be empty.
type pathValue struct{ pflag.Value }

// Set sets or adds the value.
func (v pathValue) Set(value string) error {
	if value == "" {
		return errors.New("it is empty: a variable or a command that was to name the files gave none")
	}
	return v.Value.Set(value)
}

// addDefinitions adds the flags that say what the routes are checked against.
func addDefinitions(cmd *cobra.Command, options *check.Options) {
	set := cmd.Flags()
	addChoice(cmd, (*string)(&options.Channel), "channel", "", "release channel of the Gateway API whose CustomResourceDefinitions routes are checked against: standard or experimental; if empty, those of the input, else of the cluster if one is used, else the standard channel", string(definitions.Standard), string(definitions.Experimental))
	addPaths(set, &options.CRDs, "crds", "", "files or directories with CustomResourceDefinitions of routes, which take precedence over all others")
	set.BoolVar(&options.Complete, "complete", false, "treat the input as complete: an object that is not in it does not exist")
}

// complete takes the chart into the options, and reports whether any flag names input. For a folder, the file in it can
// be named that makes it a kustomization or a chart.
func (f *inputFlags) complete() (named bool, err error) {
	for i, path := range f.options.Kustomizations {
		f.options.Kustomizations[i] = source.Folder(path)
	}
	f.chart.Path = source.Folder(f.chart.Path)
	if f.options.BuildTimeout <= 0 {
		return false, errors.New("--build-timeout must be longer than 0s")
	}
	if err := errors.Join(exist("crds", f.options.CRDs), exist("base", f.options.Base)); err != nil {
		return false, err
	}
	if f.chart.Path != "" {
		f.options.Charts = []source.Chart{f.chart}
	} else if len(f.chart.Values) > 0 {
		return false, errors.New("--values has no effect without --helm")
	}
	return f.named(), nil
}

// exist returns an error if a path that a flag names does not exist.
func exist(flag string, paths []string) error {
	for _, path := range paths {
		if _, err := os.Lstat(path); path != source.Stdin && errors.Is(err, fs.ErrNotExist) {
			return fmt.Errorf("--%s %s: no such file or directory", flag, path)
		}
	}
	return nil
}

// asRevision returns the first of the paths that does not exist, and is a git revision; empty if none is.
func asRevision(ctx context.Context, paths []string) string {
	for _, path := range paths {
		if exist("", []string{path}) != nil && revision.Exists(ctx, path) {
			return path
		}
	}
	return ""
}

// errPath is why PATH cannot be used; a shell makes PATHs of a pattern after -f.
var errPath = errors.New("PATH cannot be used with -f, -k, or --helm; for several files, repeat -f")

// errStdinPath is why PATH cannot be standard input: sets are found in folders.
var errStdinPath = errors.New("to read standard input, use -f -")

// named reports whether any flag names input.
func (f *inputFlags) named() bool {
	return len(f.options.Files)+len(f.options.Kustomizations)+len(f.options.Charts) > 0
}

// wholePaths returns where sets are looked for, by default in the working directory. Without args, that is nowhere if a flag names the input.
func wholePaths(args []string, named bool) []string {
	if len(args) == 0 && !named {
		args = []string{"."}
	}
	return source.Whole(args)
}

// widened returns the paths, with the folder above one in its place where above says the way to that.
func widened(paths []string, above func(path string) string) (wide []string) {
	for _, path := range paths {
		if way := above(path); way != "" {
			path = filepath.Join(path, way)
		}
		if !slices.Contains(wide, path) {
			wide = append(wide, path)
		}
	}
	return wide
}

// start is where the project file is looked for, and above: at the first of the paths and of the input.
func (f *inputFlags) start(paths ...string) string {
	for _, path := range append(slices.Concat(paths, f.options.Files, f.options.Kustomizations), f.chart.Path) {
		if path != "" && path != source.Stdin {
			return path
		}
	}
	return "."
}

// project finds the project of the paths and of the input, and takes over what it sets and no flag does. There may be none.
func (f *inputFlags) project(c *configuration, paths ...string) (*sets.Project, error) {
	project, err := sets.FindProject(f.start(paths...))
	if err != nil {
		return nil, err
	}
	return project, applyProject(project, c, &f.options)
}

// applyProject takes over the configuration, if no flag names one, and what exists beside the input.
func applyProject(project *sets.Project, c *configuration, options *check.Options) error {
	if project == nil {
		return nil
	}
	if c.path == "" {
		if err := project.RequireConfiguration(); err != nil {
			return err
		}
		c.path = project.ConfigurationFile()
	}
	options.Surround(project)
	return project.RequireContext()
}
