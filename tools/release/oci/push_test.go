package oci

import (
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-containerregistry/pkg/name"
	"github.com/google/go-containerregistry/pkg/registry"
	"github.com/google/go-containerregistry/pkg/v1/remote"
)

// TestPush: a registry has the images of an archive by their digest.
func TestPush(t *testing.T) {
	server := httptest.NewServer(registry.New())
	defer server.Close()
	host := strings.TrimPrefix(server.URL, "http://")
	folder := t.TempDir()
	binary := filepath.Join(folder, "program")
	if err := os.WriteFile(binary, []byte("\x7fELF"), 0o600); err != nil {
		t.Fatal(err)
	}
	for kind, binaries := range map[string][]Binary{"image": {{binary, "amd64"}}, "index": {{binary, "amd64"}, {binary, "arm64"}}} {
		archive, image := filepath.Join(folder, kind+".tar"), host+"/team/"+kind+":v1.2.3"
		if err := Write(archive, Options{Name: image, User: "1:1"}, binaries...); err != nil {
			t.Fatal(err)
		}
		digest, err := Push(t.Context(), archive, image)
		if err != nil {
			t.Fatal(err)
		}
		of, err := Digest(archive)
		if err != nil || of != digest {
			t.Errorf("%s: pushed %s, the archive has %s (%v)", kind, digest, of, err)
		}
		tag, err := name.NewTag(image)
		if err != nil {
			t.Fatal(err)
		}
		got, err := remote.Get(tag)
		if err != nil || got.Digest.String() != digest {
			t.Errorf("%s: the registry has %v (%v), want %s", kind, got, err, digest)
		}
	}
	if _, err := Push(t.Context(), binary, host+"/team/none:v1"); err == nil {
		t.Error("what is no archive is pushed")
	}
}
