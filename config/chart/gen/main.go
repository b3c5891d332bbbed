// Command gen writes the Helm chart: see `make chart`.
package main

import (
	"flag"
	"fmt"
	"os"

	"github.com/gammaguard/gammaguard/config/chart"
)

func main() {
	var o chart.Options
	flag.StringVar(&o.Version, "version", "v0.0.0-dev", "version of the release: v1.2.3")
	flag.StringVar(&o.Image, "image", "gammaguard-webhook", "name of the webhook's image, with its registry and without a tag")
	folder := flag.String("o", "dist/chart/gammaguard", "folder to write; what is in it is removed")
	flag.Parse()
	if err := chart.Write(o, *folder); err != nil {
		fmt.Fprintln(os.Stderr, "error: make the chart:", err)
		os.Exit(1)
	}
}
