// Command push pushes an OCI archive to a registry: see package oci.
package main

import (
	"context"
	"flag"
	"fmt"
	"os"
	"os/signal"

	"github.com/gammaguard/gammaguard/tools/release/oci"
)

func main() {
	archive := flag.String("archive", "", "path of the OCI archive")
	image := flag.String("image", "", "name and tag in the registry: registry.example.com/gammaguard-webhook:v1.2.3")
	flag.Parse()
	if *archive == "" || *image == "" || flag.NArg() > 0 {
		fmt.Fprintln(os.Stderr, "usage: push -archive FILE -image REGISTRY/NAME:TAG")
		os.Exit(2)
	}
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt)
	defer stop()
	digest, err := oci.Push(ctx, *archive, *image)
	if err != nil {
		fmt.Fprintf(os.Stderr, "error: push %s: %v\n", *image, err)
		os.Exit(1) //nolint:gocritic // nothing is left to stop
	}
	fmt.Printf("%s@%s\n", *image, digest)
}
