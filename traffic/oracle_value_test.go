package traffic

import (
	"fmt"
	"go/ast"
	"go/parser"
	"go/token"
	"path/filepath"
	"strconv"
	"testing"
)

// value evaluates an expression of constants; an error says what is none.
func (s *source) value(expr ast.Expr, at token.Pos) (any, error) {
	switch e := expr.(type) {
	case *ast.BasicLit:
		switch e.Kind {
		case token.STRING:
			return strconv.Unquote(e.Value)
		case token.INT:
			return strconv.Atoi(e.Value)
		}
		return strconv.ParseFloat(e.Value, 64)
	case *ast.UnaryExpr:
		return s.value(e.X, at)
	case *ast.SelectorExpr:
		if text, ok := s.constants[e.Sel.Name]; ok {
			return text, nil
		}
		if name(e.X) == "codes" {
			return e.Sel.Name, nil
		}
	case *ast.Ident:
		switch e.Name {
		case "true", "false":
			return e.Name == "true", nil
		case "nil":
			return nil, nil
		}
		if assigned, where := s.assigned(e.Name, at); assigned != nil {
			return s.value(assigned, where)
		}
	case *ast.CallExpr:
		switch name(e.Fun) {
		case "new", "int32", "string", "Namespace": // conversions
			return s.value(e.Args[0], at)
		}
	case *ast.CompositeLit:
		return s.composite(e, at)
	}
	return nil, fmt.Errorf("%s is not static", describe(expr))
}

// composite evaluates a literal: a map of fields or keys, or a list.
func (s *source) composite(e *ast.CompositeLit, at token.Pos) (any, error) {
	fields, list := map[string]any{}, []any{}
	for _, element := range e.Elts {
		pair, ok := element.(*ast.KeyValueExpr)
		if !ok {
			v, err := s.value(element, at)
			if err != nil {
				return nil, err
			}
			list = append(list, v)
			continue
		}
		key := name(pair.Key)
		if _, isField := pair.Key.(*ast.Ident); !isField {
			text, err := s.value(pair.Key, at)
			if err != nil {
				return nil, err
			}
			key = text.(string)
		}
		v, err := s.value(pair.Value, at)
		if err != nil {
			return nil, err
		}
		fields[key] = v
	}
	if len(list) > 0 {
		return list, nil
	}
	if _, isList := e.Type.(*ast.ArrayType); isList {
		return list, nil
	}
	return fields, nil
}

// name returns the last name of an expression: "c" of a.b.c.
func name(expr ast.Expr) string {
	switch e := expr.(type) {
	case *ast.Ident:
		return e.Name
	case *ast.SelectorExpr:
		return e.Sel.Name
	}
	return ""
}

func describe(expr ast.Expr) string {
	if call, ok := expr.(*ast.CallExpr); ok {
		return "a call of " + name(call.Fun)
	}
	if n := name(expr); n != "" {
		return n
	}
	return fmt.Sprintf("a %T", expr)
}

// suiteConstants reads the string constants of the conformance suite.
func suiteConstants(t *testing.T, module string) map[string]string {
	t.Helper()
	file, err := parser.ParseFile(token.NewFileSet(), filepath.Join(module, "utils", "suite", "consts.go"), nil, 0)
	if err != nil {
		t.Fatal(err)
	}
	constants := map[string]string{}
	ast.Inspect(file, func(n ast.Node) bool {
		if spec, ok := n.(*ast.ValueSpec); ok {
			if literal, ok := spec.Values[0].(*ast.BasicLit); ok && literal.Kind == token.STRING {
				constants[spec.Names[0].Name], _ = strconv.Unquote(literal.Value)
			}
		}
		return true
	})
	return constants
}
