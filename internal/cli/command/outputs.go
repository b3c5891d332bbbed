package command

import (
	"errors"
	"fmt"
	"io"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"github.com/gammaguard/gammaguard/internal/cli/repository"
	"github.com/gammaguard/gammaguard/internal/printable"
	"github.com/gammaguard/gammaguard/internal/version"
)

// reportFormats are the forms of a report.
var reportFormats = []string{"text", "json", "yaml", "sarif", "junit", "github", "gitlab"}

// diffFormats are the forms of a difference.
var diffFormats = []string{"text", "json", "yaml", "markdown"}

// outputs is the value of a flag that names formats, each with the file to write it to.
type outputs struct {
	formats []string
	named   []output
}

// output is a format, and where it is written.
type output struct {
	format string
	// file is empty for standard output.
	file string
}

func (o *outputs) String() string {
	var words []string
	for _, output := range o.named {
		word := output.format
		if output.file != "" {
			word += "=" + output.file
		}
		words = append(words, word)
	}
	return strings.Join(words, ",")
}

// Type names what the flag takes, in help.
func (*outputs) Type() string { return "string" }

// Set adds an output.
func (o *outputs) Set(word string) error {
	format, file, named := strings.Cut(word, "=")
	switch {
	case !slices.Contains(o.formats, format):
		return fmt.Errorf("the format must be one of %s", strings.Join(o.formats, ", "))
	case named && file == "":
		return errors.New("a file name must follow =")
	}
	for _, other := range o.named {
		if other.file == file {
			if file == "" {
				return errors.New("only one format can be written to standard output; write the others to files, such as json=gammaguard.json")
			}
			return fmt.Errorf("file %s is specified twice", file)
		}
	}
	o.named = append(o.named, output{format, file})
	return nil
}

// addOutputs adds the flag, which takes the formats.
func addOutputs(cmd *cobra.Command, o *outputs, formats []string) {
	o.formats = formats
	cmd.Flags().VarP(o, "output", "o", "output format: "+strings.Join(formats, ", ")+
		"; `FORMAT[=FILE]` writes to a file; can be specified multiple times; if empty, text")
	if err := cmd.RegisterFlagCompletionFunc("output", cobra.FixedCompletions(formats, cobra.ShellCompDirectiveNoFileComp)); err != nil {
		panic(err) // the flag is there
	}
}

// propose reports whether a format holds the edits of mutations.
func (o *outputs) propose() bool {
	for _, output := range o.named {
		if slices.Contains([]string{"json", "yaml", "sarif"}, output.format) {
			return true
		}
	}
	return false
}

// forms are what a report is written as.
type forms interface {
	Text(w io.Writer, color bool) error
	SARIF(w io.Writer, version string) error
	JUnit(w io.Writer, failOn string) error
	GitHub(w io.Writer) error
	GitLab(w io.Writer) error
}

// write writes to each output what write writes of its format.
func (o *outputs) write(stdout io.Writer, write func(w io.Writer, format string) error) error {
	if len(o.named) == 0 {
		return write(stdout, "text")
	}
	for _, output := range o.named {
		if output.file == "" {
			if err := write(stdout, output.format); err != nil {
				return err
			}
			continue
		}
		file, err := repository.Create(output.file)
		if err != nil {
			return err
		}
		end := printable.NewWriter(file, isTerminal(file))
		if err := errors.Join(write(end, output.format), end.Flush(), file.Close()); err != nil {
			return err
		}
	}
	return nil
}

// writeReport writes the report to each output. What fails a check is one of report.FailOn.
func (o *outputs) writeReport(r forms, failOn string, stdout io.Writer) error {
	return o.write(stdout, func(w io.Writer, format string) error { return writeReport(r, format, failOn, w) })
}

func writeReport(r forms, format, failOn string, w io.Writer) error {
	switch format {
	case "json", "yaml":
		return writeData(w, format, r)
	case "sarif":
		return r.SARIF(w, version.Get().Version)
	case "junit":
		return r.JUnit(w, failOn)
	case "github":
		return r.GitHub(w)
	case "gitlab":
		return r.GitLab(w)
	}
	return r.Text(w, colorful(w))
}
