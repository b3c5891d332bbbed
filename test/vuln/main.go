// Command vuln fails where a program can reach a known vulnerability: it runs govulncheck,
// and takes from its findings those that a file accepts, each with a reason and an end.
//
//	go run ./test/vuln -program govulncheck -db https://vuln.go.dev -accepted tools/vulnerabilities.yaml ./cmd/...
//
// A database is a URL, or a folder of OSV files, such as data/osv of golang.org/x/vulndb.
package main

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"flag"
	"fmt"
	"io"
	"net/url"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"sigs.k8s.io/yaml"
)

// acceptance is a vulnerability that is known and stays for a time.
type acceptance struct {
	// ID is that of the database: GO-2026-1234.
	ID string `json:"id"`
	// Reason says why it does no harm here.
	Reason string `json:"reason"`
	// Expires is the last day on which it is accepted: 2026-12-31.
	Expires string `json:"expires"`
}

// message is what the program reads of a message of govulncheck.
type message struct {
	Finding *struct {
		OSV          string `json:"osv"`
		FixedVersion string `json:"fixed_version"`
		Trace        []struct {
			Module   string `json:"module"`
			Version  string `json:"version"`
			Package  string `json:"package"`
			Function string `json:"function"`
		} `json:"trace"`
	} `json:"finding"`
}

// errUnreachable: there is no answer from the database.
var errUnreachable = errors.New("the database of vulnerabilities cannot be reached; " +
	"set VULNDB to a folder of its OSV files, such as data/osv of golang.org/x/vulndb")

func main() {
	program := flag.String("program", "govulncheck", "the program govulncheck")
	db := flag.String("db", "https://vuln.go.dev", "the database: a URL, or a folder")
	file := flag.String("accepted", "", "file of accepted vulnerabilities")
	tolerant := flag.Bool("tolerant", false, "succeed, with a warning, where the database cannot be reached")
	flag.Parse()
	err := run(*program, *db, *file, flag.Args())
	switch {
	case *tolerant && errors.Is(err, errUnreachable):
		fmt.Fprintln(os.Stderr, "warning: vulnerabilities were NOT CHECKED:", err)
	case err != nil:
		fmt.Fprintln(os.Stderr, "error:", err)
		os.Exit(1)
	default:
		fmt.Println("no reachable vulnerability that is not accepted")
	}
}

func run(program, db, file string, patterns []string) error {
	var list struct {
		Accepted []acceptance `json:"accepted"`
	}
	text, err := os.ReadFile(file)
	if err == nil {
		err = yaml.UnmarshalStrict(text, &list)
	}
	if err != nil {
		return fmt.Errorf("accepted vulnerabilities: %w", err)
	}
	if !strings.Contains(db, "://") {
		folder, err := filepath.Abs(db)
		if err != nil {
			return err
		}
		db = (&url.URL{Scheme: "file", Path: folder}).String()
	}
	cmd := exec.CommandContext(context.Background(), program, append([]string{"-format", "json", "-db", db}, patterns...)...)
	var stderr bytes.Buffer
	cmd.Stderr = &stderr
	output, err := cmd.Output()
	if err != nil {
		if strings.HasPrefix(db, "http") && !strings.Contains(string(output), `"osv"`) && strings.Contains(stderr.String(), "fetching vulnerabilities") {
			return fmt.Errorf("%w: %s", errUnreachable, strings.TrimSpace(stderr.String()))
		}
		return fmt.Errorf("%s: %w: %s", program, err, strings.TrimSpace(stderr.String()))
	}
	found, err := reachable(bytes.NewReader(output))
	if err != nil {
		return err
	}
	return judge(found, list.Accepted, time.Now())
}

// reachable returns what is called of the vulnerable functions, by vulnerability.
func reachable(output io.Reader) (map[string]string, error) {
	found := map[string]string{}
	for decoder := json.NewDecoder(output); ; {
		var m message
		if err := decoder.Decode(&m); errors.Is(err, io.EOF) {
			return found, nil
		} else if err != nil {
			return nil, fmt.Errorf("output of govulncheck: %w", err)
		}
		if m.Finding == nil || len(m.Finding.Trace) == 0 || m.Finding.Trace[0].Function == "" {
			continue // of a module or package that is used in another way
		}
		symbol, entry := m.Finding.Trace[0], m.Finding.Trace[len(m.Finding.Trace)-1]
		found[m.Finding.OSV] = fmt.Sprintf("%s@%s: %s.%s, called from %s.%s; fixed in %s", symbol.Module, symbol.Version,
			symbol.Package, symbol.Function, entry.Package, entry.Function, m.Finding.FixedVersion)
	}
}

// judge returns an error that names each vulnerability that is not accepted, and each line
// of the list that has ended or is of no use.
func judge(found map[string]string, accepted []acceptance, now time.Time) error {
	var problems []error
	for _, a := range accepted {
		end, err := time.Parse(time.DateOnly, a.Expires)
		_, there := found[a.ID]
		switch {
		case err != nil || a.Reason == "":
			problems = append(problems, fmt.Errorf("%s is accepted without a reason or a date such as 2026-12-31", a.ID))
		case !there:
			problems = append(problems, fmt.Errorf("%s is accepted, and cannot be reached: remove it from the list", a.ID))
		case !now.Before(end.AddDate(0, 0, 1)):
			problems = append(problems, fmt.Errorf("%s was accepted until %s", a.ID, a.Expires))
		}
		delete(found, a.ID)
	}
	var ids []string
	for id := range found {
		ids = append(ids, id)
	}
	slices.Sort(ids)
	for _, id := range ids {
		problems = append(problems, fmt.Errorf("https://pkg.go.dev/vuln/%s: %s", id, found[id]))
	}
	return errors.Join(problems...)
}
