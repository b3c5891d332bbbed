// Command image puts a static binary into an OCI archive: see package oci.
package main

import (
	"flag"
	"fmt"
	"os"
	"runtime"

	"github.com/gammaguard/gammaguard/tools/release/oci"
)

func main() {
	var o oci.Options
	binary := oci.Binary{Arch: runtime.GOARCH}
	out := flag.String("o", "", "path of the archive to write")
	flag.StringVar(&binary.Path, "binary", "", "path of the static binary, which becomes the entrypoint")
	flag.StringVar(&o.Name, "name", "", "name and tag of the image: gammaguard-webhook:v1.2.3")
	flag.StringVar(&o.Version, "version", "", "version, kept as a label")
	flag.StringVar(&o.Revision, "revision", "", "commit, kept as a label")
	flag.StringVar(&o.User, "user", "65532:65532", "user and group that it runs as")
	flag.Parse()
	if binary.Path == "" || o.Name == "" || *out == "" || flag.NArg() > 0 {
		fmt.Fprintln(os.Stderr, "usage: image -binary FILE -name NAME:TAG -o ARCHIVE [-version V] [-revision COMMIT] [-user UID:GID]")
		os.Exit(2)
	}
	if err := oci.Write(*out, o, binary); err != nil {
		fmt.Fprintln(os.Stderr, "error: make the image:", err)
		os.Exit(1)
	}
}
