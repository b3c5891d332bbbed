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

// outputs is the value of a flag that names formats, each with the file to write it to.
type outputs []struct {
	format string
	// file is empty for standard output.
	file string
}

func (o *outputs) String() string {
	var words []string
	for _, output := range *o {
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
	case !slices.Contains(reportFormats, format):
		return fmt.Errorf("the format must be one of %s", strings.Join(reportFormats, ", "))
	case named && file == "":
		return errors.New("a file name must follow =")
	}
	for _, other := range *o {
		if other.file == file {
			if file == "" {
				return errors.New("only one format can be written to standard output; write the others to files, such as sarif=gammaguard.sarif")
			}
			return fmt.Errorf("file %s is specified twice", file)
		}
	}
	*o = append(*o, struct{ format, file string }{format, file})
	return nil
}

// addOutputs adds the flag.
func addOutputs(cmd *cobra.Command, o *outputs) {
	cmd.Flags().VarP(o, "output", "o", "output format: "+strings.Join(reportFormats, ", ")+
		"; `FORMAT[=FILE]` writes to a file; can be specified multiple times; if empty, text")
	if err := cmd.RegisterFlagCompletionFunc("output", cobra.FixedCompletions(reportFormats, cobra.ShellCompDirectiveNoFileComp)); err != nil {
		panic(err) // the flag is there
	}
}

// propose reports whether a format holds the edits of mutations.
func (o outputs) propose() bool {
	for _, output := range o {
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

// write writes the report to each output. What fails a check is one of report.FailOn.
func (o outputs) write(r forms, failOn string, stdout io.Writer) error {
	if len(o) == 0 {
		return writeReport(r, "text", failOn, stdout)
	}
	for _, output := range o {
		if output.file == "" {
			if err := writeReport(r, output.format, failOn, stdout); err != nil {
				return err
			}
			continue
		}
		file, err := repository.Create(output.file)
		if err != nil {
			return err
		}
		end := printable.NewWriter(file, isTerminal(file))
		if err := errors.Join(writeReport(r, output.format, failOn, end), end.Flush(), file.Close()); err != nil {
			return err
		}
	}
	return nil
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
