// Command gen writes the Helm chart: see `make chart`.
package main

import (
	"flag"
	"fmt"
	"os"
	"path/filepath"

	"github.com/gammaguard/gammaguard/config/chart"
)

func main() {
	var o chart.Options
	flag.StringVar(&o.Version, "version", "v0.0.0-dev", "version of the release: v1.2.3")
	flag.StringVar(&o.Image, "image", "gammaguard-webhook", "name of the webhook's image, with its registry and without a tag")
	folder := flag.String("o", "dist/chart/gammaguard", "folder to write; what is in it is removed")
	flag.Parse()
	if err := write(o, *folder); err != nil {
		fmt.Fprintln(os.Stderr, "error: make the chart:", err)
		os.Exit(1)
	}
}

func write(o chart.Options, folder string) error {
	files, err := chart.Files(o)
	if err != nil {
		return err
	}
	if err := os.RemoveAll(folder); err != nil {
		return err
	}
	for name, data := range files {
		name = filepath.Join(folder, filepath.FromSlash(name))
		if err := os.MkdirAll(filepath.Dir(name), 0o755); err != nil {
			return err
		}
		if err := os.WriteFile(name, data, 0o644); err != nil {
			return err
		}
	}
	return nil
}
