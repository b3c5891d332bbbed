package main

import (
	"bytes"
	"fmt"
	"os"
	"path/filepath"
	"time"

	"github.com/openvex/go-vex/pkg/vex"
	"sigs.k8s.io/yaml"
)

// vex writes which known vulnerabilities the programs are not affected by although they can reach
// them, as an OpenVEX document: those that are accepted in tools/vulnerabilities.yaml. Make vulncheck
// fails on all others.
func (r *release) vex() error {
	data, err := os.ReadFile(filepath.Join(r.root, "tools", "vulnerabilities.yaml"))
	if err != nil {
		return err
	}
	var known struct {
		Accepted []struct{ ID, Reason, Expires string } `json:"accepted"`
	}
	if err := yaml.UnmarshalStrict(data, &known); err != nil {
		return fmt.Errorf("tools/vulnerabilities.yaml: %w", err)
	}
	date, err := time.Parse(time.RFC3339, r.date)
	if err != nil {
		return fmt.Errorf("-date: %w", err)
	}
	document := vex.New()
	document.Timestamp, document.Author, document.AuthorRole = &date, "The gammaguard authors", "Project"
	for _, accepted := range known.Accepted {
		statement := vex.Statement{
			Vulnerability: vex.Vulnerability{Name: vex.VulnerabilityID(accepted.ID)},
			Status:        vex.StatusNotAffected, ImpactStatement: accepted.Reason,
		}
		for _, program := range []string{webhook, cli} {
			statement.Products = append(statement.Products, vex.Product{Component: vex.Component{
				Identifiers: map[vex.IdentifierType]string{vex.PURL: "pkg:golang/github.com/gammaguard/gammaguard@" + r.version + "#cmd/" + program},
			}})
		}
		if err := statement.Validate(); err != nil {
			return fmt.Errorf("tools/vulnerabilities.yaml: %s: %w", accepted.ID, err)
		}
		document.Statements = append(document.Statements, statement)
	}
	if _, err := document.GenerateCanonicalID(); err != nil {
		return err
	}
	var text bytes.Buffer
	if err := document.ToJSON(&text); err != nil {
		return err
	}
	return r.write("gammaguard-"+r.version+".openvex.json", text.Bytes())
}
