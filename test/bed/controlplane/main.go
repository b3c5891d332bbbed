// Command controlplane builds the control plane's binaries where they are
// missing, and prints the folder that they are in. With releases of Kubernetes as
// arguments, such as v1.30.14, it builds kube-apiserver of each, one after the other.
package main

import (
	"context"
	"fmt"
	"os"

	"github.com/gammaguard/gammaguard/test/bed"
)

func main() {
	bed.Main(func(ctx context.Context, releases []string) error {
		if len(releases) == 0 {
			dir, err := bed.Build(ctx, os.Stderr)
			if err == nil {
				fmt.Println(dir)
			}
			return err
		}
		for _, release := range releases {
			path, err := bed.BuildAPIServer(ctx, release, os.Stderr)
			if err != nil {
				return err
			}
			fmt.Println(path)
		}
		return nil
	})
}
