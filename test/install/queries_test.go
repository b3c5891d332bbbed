package install

import (
	"encoding/json"
	"errors"
	"io"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"testing"

	"github.com/itchyny/gojq"
)

// queries runs the queries of docs/audit-log.md on the audit log of the adoption.
func (a *adoption) queries(t *testing.T) {
	page, err := os.ReadFile(filepath.Join(a.root, "docs", "audit-log.md"))
	if err != nil {
		t.Fatal(err)
	}
	// What each finds, in the order of the page.
	wants := []string{
		`^20\d\d-\S+\tadmin\tcreate\tfaces/refused\tspec.parentRefs\[0\]: namespace closed refuses consumer routes`,
		`^admin\tshop/headless\tspec.parentRefs\[0\].name: would be denied: Service shop/bare is headless`,
		`^parent-headless$`,
		"", // the adoption has no exemption
		`^admin\tshop/group\tparent-group spec.parentRefs\[0\].group$`,
	}
	found := regexp.MustCompile(`(?m)^jq -r '([^']+)' audit.log`).FindAllSubmatch(page, -1)
	if len(found) != len(wants) {
		t.Fatalf("docs/audit-log.md has %d queries, want %d", len(found), len(wants))
	}
	for i, query := range found {
		log, err := os.Open(plane.AuditLog)
		if err != nil {
			t.Fatal(err)
		}
		lines := runQuery(t, string(query[1]), log)
		_ = log.Close() // it was only read
		if want := wants[i]; want == "" && len(lines) > 0 || want != "" && !slices.ContainsFunc(lines, regexp.MustCompile(want).MatchString) {
			t.Errorf("%s: want %q in %q", query[1], want, lines)
		}
	}
}

// runQuery runs a query of jq on each JSON value, and returns the strings that it gives.
func runQuery(t *testing.T, text string, values io.Reader) []string {
	t.Helper()
	query, err := gojq.Parse(text)
	if err != nil {
		t.Fatalf("%s: %v", text, err)
	}
	var found []string
	for decoder := json.NewDecoder(values); ; {
		var value any
		if err := decoder.Decode(&value); errors.Is(err, io.EOF) {
			return found
		} else if err != nil {
			t.Fatal(err)
		}
		results := query.Run(value)
		for result, more := results.Next(); more; result, more = results.Next() {
			line, ok := result.(string)
			if !ok {
				t.Fatalf("%s: %v", text, result)
			}
			found = append(found, line)
		}
	}
}
