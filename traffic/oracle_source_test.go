package traffic

import (
	"fmt"
	"go/ast"
	"go/parser"
	"go/token"
	"path/filepath"
	"slices"
	"strings"
	"testing"
)

// expectation is one ExpectedResponse of a conformance test, as its source has it.
type expectation struct {
	// name is the test's file and the expectation's place in it: "httproute-weight#0".
	name string
	mesh bool
	// dynamic says what of it is known only when the test runs; empty if nothing.
	dynamic string
	// fields are its fields by their names, nested ones as maps.
	fields map[string]any
	// manifests are the test's, relative to the module.
	manifests []string
	// gateway is the Gateway that gets the request; in mesh tests client is the
	// namespace that sends it.
	gateway, client string
	// weights are the shares expected of the backends, where there are any.
	weights map[string]any
	// ungranted: the test has deleted the ReferenceGrants before.
	ungranted bool
}

// source is a file of a conformance test.
type source struct {
	file      *ast.File
	constants map[string]string
}

// expectations reads every ExpectedResponse of the files that match the pattern.
func expectations(t *testing.T, module, pattern string, constants map[string]string) []expectation {
	t.Helper()
	files, err := filepath.Glob(filepath.Join(module, "tests", pattern))
	if err != nil || len(files) == 0 {
		t.Fatalf("%s: no tests (%v)", pattern, err)
	}
	var found []expectation
	for _, path := range files {
		file, err := parser.ParseFile(token.NewFileSet(), path, nil, 0)
		if err != nil {
			t.Fatal(err)
		}
		s := &source{file, constants}
		base := strings.TrimSuffix(filepath.Base(path), ".go")
		inMesh := strings.HasPrefix(pattern, "mesh/")
		if inMesh {
			base = "mesh/" + base
		}
		for i, literal := range s.literals() {
			e := expectation{name: fmt.Sprintf("%s#%d", base, i), mesh: inMesh, manifests: s.manifests()}
			fields, err := s.value(literal, literal.Pos())
			if err != nil {
				e.dynamic = err.Error()
			} else {
				e.fields = fields.(map[string]any)
			}
			e.gateway, e.client = s.gateway(literal), s.client(literal)
			e.weights, e.ungranted = s.weights(literal), s.ungranted(literal)
			found = append(found, e)
		}
	}
	return found
}

// literals returns the ExpectedResponse literals, in their order.
func (s *source) literals() []*ast.CompositeLit {
	var found []*ast.CompositeLit
	ast.Inspect(s.file, func(n ast.Node) bool {
		literal, ok := n.(*ast.CompositeLit)
		if !ok {
			return true
		}
		switch kind := literal.Type.(type) {
		case *ast.SelectorExpr:
			if kind.Sel.Name == "ExpectedResponse" {
				found = append(found, literal)
			}
		case *ast.ArrayType:
			if element, ok := kind.Elt.(*ast.SelectorExpr); ok && element.Sel.Name == "ExpectedResponse" {
				for _, e := range literal.Elts {
					found = append(found, e.(*ast.CompositeLit))
				}
				return false
			}
		}
		return true
	})
	return found
}

// manifests returns what the ConformanceTest says under Manifests.
func (s *source) manifests() []string {
	var found []string
	ast.Inspect(s.file, func(n ast.Node) bool {
		if pair, ok := n.(*ast.KeyValueExpr); ok && name(pair.Key) == "Manifests" {
			list, err := s.value(pair.Value, pair.Pos())
			if err == nil {
				for _, manifest := range list.([]any) {
					found = append(found, manifest.(string))
				}
			}
		}
		return true
	})
	return found
}

// assigned returns the expression that was last assigned to a variable before the
// position.
func (s *source) assigned(variable string, before token.Pos) (ast.Expr, token.Pos) {
	var found ast.Expr
	var at token.Pos
	ast.Inspect(s.file, func(n ast.Node) bool {
		record := func(names []ast.Expr, values []ast.Expr) {
			for i, to := range names {
				if name(to) == variable && n.Pos() < before && len(values) > 0 {
					found, at = values[min(i, len(values)-1)], n.Pos()
				}
			}
		}
		switch n := n.(type) {
		case *ast.AssignStmt:
			record(n.Lhs, n.Rhs)
		case *ast.ValueSpec:
			for i, to := range n.Names {
				if to.Name == variable && n.Pos() < before && i < len(n.Values) {
					found, at = n.Values[i], n.Pos()
				}
			}
		}
		return true
	})
	return found, at
}

// calls returns the calls of functions whose name has the part, in their order.
func (s *source) calls(part string) []*ast.CallExpr {
	var found []*ast.CallExpr
	ast.Inspect(s.file, func(n ast.Node) bool {
		if call, ok := n.(*ast.CallExpr); ok && strings.Contains(name(call.Fun), part) {
			found = append(found, call)
		}
		return true
	})
	return found
}

// gateway returns the Gateway behind the address that the first request after the
// literal, or around it, goes to.
func (s *source) gateway(literal *ast.CompositeLit) string {
	for _, part := range []string{"MakeRequest", "RequestAndExpect", "SendRPC"} {
		for _, call := range s.calls(part) {
			if call.End() < literal.Pos() {
				continue
			}
			for _, arg := range call.Args {
				if strings.HasPrefix(name(arg), "gwAddr") {
					return s.gatewayAt(arg, call.Pos())
				}
			}
		}
	}
	return ""
}

// gatewayAt follows an address back to the Gateway's name.
func (s *source) gatewayAt(address ast.Expr, before token.Pos) string {
	assigned, at := s.assigned(name(address), before)
	call, ok := assigned.(*ast.CallExpr)
	if !ok {
		if assigned == nil {
			return ""
		}
		return s.gatewayAt(assigned, at)
	}
	gateway := ""
	ast.Inspect(call, func(n ast.Node) bool {
		if ref, ok := n.(*ast.CallExpr); ok && name(ref.Fun) == "NewGatewayRef" {
			if named, err := s.value(ref.Args[0], at); err == nil {
				gateway, _ = named.(map[string]any)["Name"].(string)
			}
		}
		return true
	})
	return gateway
}

// client returns the namespace of the client that was connected to last.
func (s *source) client(literal *ast.CompositeLit) string {
	namespace := s.constants["MeshNamespace"]
	for _, call := range s.calls("ConnectToApp") {
		if call.Pos() < literal.Pos() && name(call.Fun) == "ConnectToAppInNamespace" {
			namespace = s.constants[name(call.Args[3])]
		} else if call.Pos() < literal.Pos() {
			namespace = s.constants["MeshNamespace"]
		}
	}
	return namespace
}

func (s *source) weights(literal *ast.CompositeLit) map[string]any {
	literals := s.literals()
	if literals[len(literals)-1] != literal {
		return nil
	}
	expr, at := s.assigned("expectedWeights", s.file.End())
	if expr == nil {
		return nil
	}
	weights, err := s.value(expr, at)
	if err != nil {
		return nil
	}
	return weights.(map[string]any)
}

func (s *source) ungranted(literal *ast.CompositeLit) bool {
	return slices.ContainsFunc(s.calls("Delete"), func(call *ast.CallExpr) bool { return call.Pos() < literal.Pos() })
}
