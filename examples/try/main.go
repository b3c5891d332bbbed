// Try judges the routes of manifests by the rules of gammaguard, as if they were created
// now. It uses the core as a library, with the default configuration: it has no charts, no
// kustomizations, and nothing of a cluster, and so builds in seconds, long before
// `gammaguard check`, which gives the same findings, and those that look at more than the
// rules do: the schema, and parent-kind-omitted.
//
//	go run ./examples/try examples/shop/*.yaml
package main

import (
	"errors"
	"flag"
	"fmt"
	"io"
	"os"
	"strconv"

	"github.com/gammaguard/gammaguard/internal/creation"
	"github.com/gammaguard/gammaguard/internal/manifest"
	"github.com/gammaguard/gammaguard/internal/printable"
	"github.com/gammaguard/gammaguard/validate"
	"github.com/gammaguard/gammaguard/validate/rules"
)

func main() {
	flag.Usage = func() { printable.Fprintf(flag.CommandLine.Output(), "Usage: go run ./examples/try FILE...\n") }
	flag.Parse()
	if err := try(os.Stdout, flag.Args()...); err != nil {
		printable.Fprintf(os.Stderr, "error: %s\n", printable.Layout(printable.Error(err)))
		os.Exit(1)
	}
}

// try writes the findings on the routes in the files, a line each.
func try(w io.Writer, files ...string) error {
	engine, err := validate.New(rules.Catalog(), &validate.Policy{})
	if err != nil {
		return err
	}
	set, err := read(files)
	if err != nil {
		return err
	}
	judge := creation.Judge{Engine: engine}
	routes := set.Routes()
	for _, object := range routes {
		_, verdict, err := judge.Create(object.Route, set)
		if err != nil {
			return fmt.Errorf("%s: %w", object.Origin, err)
		}
		for _, f := range append(verdict.Findings, verdict.UnknownIgnores...) {
			message := f.Warning()
			switch f.Effect {
			case validate.Deny:
				message = f.FieldError().Error()
			case validate.Warn:
			default:
				continue
			}
			printable.Fprintf(w, "%s:%d: %s: %s: %s\n", object.Origin.File, object.Line(f.Field), f.Effect, object.Key, message)
		}
	}
	printable.Fprintf(w, "%s in %s\n", counted(len(routes), "route"), counted(len(files), "file"))
	return nil
}

func counted(n int, noun string) string {
	if n != 1 {
		noun += "s"
	}
	return strconv.Itoa(n) + " " + noun
}

// read returns the objects of the files: what they do not have is unknown, not absent.
func read(files []string) (*manifest.Set, error) {
	if len(files) == 0 {
		return nil, errors.New("specify manifests, such as examples/shop/*.yaml")
	}
	set := manifest.NewSet(manifest.Options{})
	for _, file := range files {
		text, err := os.ReadFile(file)
		if err != nil {
			return nil, err
		}
		objects, errs := manifest.Read(file, text, "default")
		for _, object := range objects {
			errs = append(errs, set.Put(object))
		}
		if err := errors.Join(errs...); err != nil {
			return nil, err
		}
	}
	return set, nil
}
