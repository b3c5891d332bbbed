package main

import (
	"bytes"
	_ "embed"
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"text/template"
	"time"
)

// The pages without the figures: docs/performance.md has the objectives, docs/measurements.md
// the ratios.
var (
	//go:embed page.md.tmpl
	objectivesText string
	//go:embed measurements.md.tmpl
	measurementsText string
)

// page returns a page that shows the result.
func page(pageText string, r *Result) ([]byte, error) {
	t, err := template.New("page").Funcs(template.FuncMap{
		"count":      count,
		"thousandth": func(v float64) string { return fmt.Sprintf("%.2f", v/1e3) },
		"ratios":     func(c Comparison) string { return fmt.Sprintf("%.2f; %s", c.CPU.Ratio, c.P99s()) },
		"holds": func(conditions ...bool) string {
			if slices.Contains(conditions, false) {
				return "**no**"
			}
			return "yes"
		},
	}).Parse(pageText)
	if err != nil {
		return nil, err
	}
	var out bytes.Buffer
	err = t.Execute(&out, r)
	return out.Bytes(), err
}

// resultFile is the name of the result in the folder.
const resultFile = "result.json"

// write writes the result, and where there is a folder for it its pages beside that.
func write(result *Result, out string) error {
	data, err := json.MarshalIndent(result, "", "  ")
	if err != nil {
		return err
	}
	data = append(data, '\n')
	if out == "" {
		_, err := os.Stdout.Write(data)
		return err
	}
	if err := os.MkdirAll(out, 0o755); err != nil {
		return err
	}
	if err := os.WriteFile(filepath.Join(out, resultFile), data, 0o644); err != nil { //nolint:gosec // for all to read
		return err
	}
	return render(out)
}

// replaceAudit reads the result in the folder, and puts the stage's audit into it.
func replaceAudit(result *Result, out string, stage *Stage) error {
	if err := read(result, out); err != nil {
		return err
	}
	former := result.At(stage.Routes)
	if former == nil {
		return fmt.Errorf("%s: no stage of %d routes", out, stage.Routes)
	}
	former.Audit, result.AuditDate = stage.Audit, time.Now().UTC().Format(time.DateOnly)
	return nil
}

// read reads the result in the folder.
func read(result *Result, out string) error {
	path := filepath.Join(out, resultFile)
	data, err := os.ReadFile(path)
	if err != nil {
		return err
	}
	*result = Result{}
	if err := json.Unmarshal(data, result); err != nil {
		return fmt.Errorf("%s: %w", path, err)
	}
	if len(result.Stages) == 0 {
		return fmt.Errorf("%s: no stages", path)
	}
	return nil
}

// render writes the pages of the result that is in the folder.
func render(out string) error {
	var result Result
	if err := read(&result, out); err != nil {
		return err
	}
	for file, template := range map[string]string{
		filepath.Clean(out) + ".md":                         objectivesText,
		filepath.Join(filepath.Dir(out), "measurements.md"): measurementsText,
	} {
		text, err := page(template, &result)
		if err != nil {
			return err
		}
		if err := os.WriteFile(file, text, 0o644); err != nil { //nolint:gosec // for all to read
			return err
		}
	}
	return nil
}

// count writes a number with a comma before each three digits.
func count(n int) string {
	digits := strconv.Itoa(n)
	for i := len(digits) - 3; i > 0; i -= 3 {
		digits = digits[:i] + "," + digits[i:]
	}
	return digits
}
