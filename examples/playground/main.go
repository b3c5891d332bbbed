//go:build !js

// Playground is gammaguard in a browser: the core as a library, compiled to WebAssembly, with a page around it. In the
// browser it answers; here it writes the page, one file that needs nothing else. `make playground` does both.
package main

import (
	"bytes"
	"compress/gzip"
	"embed"
	"encoding/base64"
	"errors"
	"flag"
	"html/template"
	"os"

	"github.com/gammaguard/gammaguard/internal/cli/graph"
	"github.com/gammaguard/gammaguard/internal/printable"
	"github.com/gammaguard/gammaguard/mesh"
)

//go:embed page.html page.css page.js example.yaml
var files embed.FS

func main() {
	program, loader := flag.String("program", "", "this program, compiled with GOOS=js GOARCH=wasm"), flag.String("loader", "", "wasm_exec.js of the Go that compiled it")
	out := flag.String("o", "index.html", "the page to write")
	flag.Parse()
	page, err := makePage(*program, *loader)
	if err == nil {
		err = os.WriteFile(*out, page, 0o644) //nolint:gosec // it is for everybody
	}
	if err != nil {
		printable.Fprintf(os.Stderr, "error: %s\n", printable.Layout(printable.Error(err)))
		os.Exit(1)
	}
}

// makePage returns the page. Its policy allows its own script and that of the picture, and no connection.
func makePage(program, loader string) ([]byte, error) {
	binary, programErr := os.ReadFile(program)
	start, loaderErr := os.ReadFile(loader)
	var packed, page bytes.Buffer
	w, _ := gzip.NewWriterLevel(&packed, gzip.BestCompression)
	_, err := w.Write(binary)
	if err := errors.Join(programErr, loaderErr, err, w.Close()); err != nil {
		return nil, err
	}
	style, script := text("page.css"), string(start)+text("page.js")
	graphStyle, graphScript := graph.Sources()
	err = template.Must(template.ParseFS(files, "page.html")).Execute(&page, map[string]any{ //nolint:gosec // all are constants
		"Policy": "default-src 'none'; base-uri 'none'; form-action 'none'; style-src " + graph.Digest(style) + " " + graphStyle +
			"; script-src 'wasm-unsafe-eval' " + graph.Digest(script) + " " + graphScript,
		"Style": template.CSS(style), "Script": template.JS(script), "Meshes": mesh.Profiles(), "Example": text("example.yaml"),
		"Size": float64(base64.StdEncoding.EncodedLen(packed.Len())) / 1e6, "Program": template.HTML(base64.StdEncoding.EncodeToString(packed.Bytes())),
	})
	return page.Bytes(), err
}

// text returns an embedded file.
func text(name string) string {
	data, _ := files.ReadFile(name)
	return string(data)
}
