// Command release makes the files of a release from binaries that were built for each
// platform: see `make release`. The same binaries always make the same bytes.
package main

import (
	"context"
	"crypto/sha256"
	"flag"
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"

	"github.com/sigstore/sigstore/pkg/signature"

	"github.com/gammaguard/gammaguard/tools/release/oci"
)

// The programs of a release.
const (
	webhook = "gammaguard-webhook"
	cli     = "gammaguard"
)

// release is one release.
type release struct {
	// version is that of the release, "v1.2.3", and revision its commit.
	version, revision string
	// image is what the manifests call the webhook's image, without its tag.
	image string
	// downloads is the URL under which the files will be found.
	downloads string
	// root is the repository, built the folder with a folder of binaries for each
	// platform ("linux-amd64"), and out the folder to write.
	root, built, out string
	// date is when the commit was made, in RFC 3339, and builder the URI of who builds.
	date, builder string
	// signer signs; nil for a release without signatures.
	signer signature.SignerVerifier

	platforms []platform
}

// platform is one that binaries were built for.
type platform struct{ os, arch string }

func (p platform) String() string { return p.os + "-" + p.arch }

// binary returns where the program was built for the platform.
func (r *release) binary(program string, p platform) string {
	if p.os == "windows" {
		program += ".exe"
	}
	return filepath.Join(r.built, p.String(), program)
}

// has reports whether the program was built for the platform.
func (r *release) has(program string, p platform) bool {
	_, err := os.Stat(r.binary(program, p))
	return err == nil
}

var semantic = regexp.MustCompile(`^v(0|[1-9][0-9]*)\.(0|[1-9][0-9]*)\.(0|[1-9][0-9]*)(-[0-9A-Za-z.-]+)?$`)

func main() {
	var r release
	flag.StringVar(&r.version, "version", "", "version of the release: v1.2.3")
	flag.StringVar(&r.revision, "revision", "", "its commit")
	flag.StringVar(&r.image, "image", webhook, "name that the manifests have for the webhook's image, with its registry and without a tag")
	flag.StringVar(&r.downloads, "downloads", "", "URL under which the files will be found, for the krew manifest")
	flag.StringVar(&r.root, "root", ".", "root of the repository")
	flag.StringVar(&r.built, "built", "dist/build", "folder with a folder of binaries for each platform")
	flag.StringVar(&r.out, "out", "dist/release", "folder to write; what is in it is removed")
	flag.StringVar(&r.date, "date", "", "when the commit was made, in RFC 3339")
	flag.StringVar(&r.builder, "builder", "https://github.com/gammaguard/gammaguard/blob/main/docs/release.md#who-builds", "URI of who builds, for the provenance")
	key := flag.String("key", "", "private key to sign with: a PEM file, whose password is in "+password+", or the URI of a key in a KMS; empty for no signatures")
	check := flag.Bool("check", false, "check the version and the key, and make nothing")
	flag.Parse()
	if flag.NArg() > 0 || !semantic.MatchString(r.version) {
		fmt.Fprintf(os.Stderr, "error: -version %q: want a version such as v1.2.3\n", r.version)
		os.Exit(2)
	}
	var err error
	if r.signer, err = signer(context.Background(), *key); err != nil {
		fmt.Fprintln(os.Stderr, "error: KEY:", err)
		os.Exit(2)
	}
	if *check {
		if r.signer == nil {
			fmt.Fprintln(os.Stderr, "without a key, nothing is signed: set KEY")
		}
		return
	}
	if err := r.make(); err != nil {
		fmt.Fprintln(os.Stderr, "error: make the release:", err)
		os.Exit(1)
	}
}

// make writes all files into a new folder, which then takes the place of out.
func (r *release) make() error {
	out := r.out
	if err := os.MkdirAll(filepath.Dir(out), 0o755); err != nil {
		return err
	}
	temporary, err := os.MkdirTemp(filepath.Dir(out), ".release-")
	if err != nil {
		return err
	}
	defer os.RemoveAll(temporary) //nolint:errcheck // a temporary folder
	r.out = temporary
	if err := os.Chmod(temporary, 0o755); err != nil {
		return err
	}
	if err := r.findPlatforms(); err != nil {
		return err
	}
	for _, step := range []func() error{r.images, r.archives, r.manifests, r.chart, r.sboms, r.vex, r.notes, r.krew, r.provenance, r.signImages, r.publicKey, r.checksums, r.signChecksums} {
		if err := step(); err != nil {
			return err
		}
	}
	if err := os.RemoveAll(out); err != nil {
		return err
	}
	return os.Rename(temporary, out)
}

// findPlatforms reads for which platforms there are binaries.
func (r *release) findPlatforms() error {
	entries, err := os.ReadDir(r.built)
	if err != nil {
		return err
	}
	for _, entry := range entries {
		if system, arch, ok := strings.Cut(entry.Name(), "-"); ok && entry.IsDir() {
			r.platforms = append(r.platforms, platform{system, arch})
		}
	}
	if !slices.ContainsFunc(r.platforms, func(p platform) bool { return r.has(webhook, p) }) {
		return fmt.Errorf("%s has no %s for any platform", r.built, webhook)
	}
	return nil
}

// images writes an OCI archive of each program, with an image for each Linux platform.
func (r *release) images() error {
	for _, program := range []string{webhook, cli} {
		var binaries []oci.Binary
		for _, p := range r.platforms {
			if p.os == "linux" && r.has(program, p) {
				binaries = append(binaries, oci.Binary{Path: r.binary(program, p), Arch: p.arch})
			}
		}
		if len(binaries) == 0 {
			continue
		}
		o := oci.Options{Name: r.imageName(program) + ":" + r.version, Version: r.version, Revision: r.revision, User: "65532:65532"}
		if err := oci.Write(filepath.Join(r.out, program+"-"+r.version+"-image.tar"), o, binaries...); err != nil {
			return fmt.Errorf("image of %s: %w", program, err)
		}
	}
	return nil
}

// imageName returns the name of the program's image, without a tag.
func (r *release) imageName(program string) string {
	if program == cli {
		return strings.TrimSuffix(r.image, "-webhook") + "-cli"
	}
	return r.image
}

// checksums writes the SHA-256 of each file, in the form that sha256sum --check reads.
func (r *release) checksums() error {
	entries, err := os.ReadDir(r.out)
	if err != nil {
		return err
	}
	var sums strings.Builder
	for _, entry := range entries {
		sum, err := sha256Of(filepath.Join(r.out, entry.Name()))
		if err != nil {
			return err
		}
		fmt.Fprintf(&sums, "%s  %s\n", sum, entry.Name())
	}
	return r.write(checksumsFile, []byte(sums.String()))
}

func sha256Of(path string) (string, error) {
	data, err := os.ReadFile(path)
	if err != nil {
		return "", err
	}
	return fmt.Sprintf("%x", sha256.Sum256(data)), nil
}

func (r *release) write(name string, data []byte) error {
	return os.WriteFile(filepath.Join(r.out, name), data, 0o644)
}
