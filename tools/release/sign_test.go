package main

import (
	"bytes"
	"crypto"
	"crypto/ed25519"
	"crypto/elliptic"
	"encoding/base64"
	"encoding/json"
	"fmt"
	"io"
	"maps"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/sigstore/sigstore/pkg/cryptoutils"
	"github.com/sigstore/sigstore/pkg/signature"
	"github.com/sigstore/sigstore/pkg/signature/dsse"
	"github.com/sigstore/sigstore/pkg/signature/kms"
	"github.com/sigstore/sigstore/pkg/signature/kms/cliplugin/handler"
	"github.com/sigstore/sigstore/pkg/signature/options"

	"github.com/gammaguard/gammaguard/tools/release/oci"
)

// kmsPlugin is what the test is called by as a KMS: it has the key in the file that the environment names.
const kmsPlugin = "sigstore-kms-testing"

func TestMain(m *testing.M) {
	if filepath.Base(os.Args[0]) == kmsPlugin {
		if err := serveKey(); err != nil {
			_ = handler.WriteErrorResponse(os.Stdout, err)
		}
		return
	}
	os.Exit(m.Run())
}

// keyInFile is a KMS with one key.
type keyInFile struct {
	kms.SignerVerifier
	key signature.SignerVerifier
}

func (k *keyInFile) PublicKey(opts ...signature.PublicKeyOption) (crypto.PublicKey, error) {
	return k.key.PublicKey(opts...)
}

func (k *keyInFile) SignMessage(message io.Reader, opts ...signature.SignOption) ([]byte, error) {
	return k.key.SignMessage(message, opts...)
}

func (k *keyInFile) DefaultAlgorithm() string { return "ecdsa-p256-sha256" }

func serveKey() error {
	args, err := handler.GetPluginArgs(os.Args)
	if err != nil {
		return err
	}
	key, err := signature.LoadSignerVerifierFromPEMFile(os.Getenv("TEST_KEY"), crypto.SHA256, cryptoutils.SkipPassword)
	if err != nil {
		return err
	}
	_, err = handler.Dispatch(os.Stdout, os.Stdin, args, &keyInFile{key: key})
	return err
}

// newKey writes a private key, with a password unless that is nil, and returns its path.
func newKey(t *testing.T, password []byte) string {
	t.Helper()
	pass := cryptoutils.SkipPassword
	if password != nil {
		pass = cryptoutils.StaticPasswordFunc(password)
	}
	text, _, err := cryptoutils.GeneratePEMEncodedECDSAKeyPair(elliptic.P256(), pass)
	if err != nil {
		t.Fatal(err)
	}
	path := filepath.Join(t.TempDir(), "release.key")
	if err := os.WriteFile(path, text, 0o600); err != nil {
		t.Fatal(err)
	}
	return path
}

// TestSigned: what a release signs is verified as docs/release.md says, with the key in a file, in an encrypted
// file, and in a KMS.
func TestSigned(t *testing.T) {
	t.Run("file", func(t *testing.T) { testSigned(t, newKey(t, nil)) })
	t.Run("encrypted file", func(t *testing.T) {
		t.Setenv(password, "secret")
		if by, err := signer(t.Context(), newKey(t, []byte("secret"))); by == nil || err != nil {
			t.Errorf("%v, %v", by, err)
		}
		t.Setenv(password, "")
		if _, err := signer(t.Context(), newKey(t, []byte("secret"))); err == nil || !strings.Contains(err.Error(), "set RELEASE_KEY_PASSWORD") {
			t.Errorf("without the password: %v", err)
		}
	})
	t.Run("file with parameters before the key", func(t *testing.T) {
		path := newKey(t, nil)
		key, err := os.ReadFile(path)
		if err != nil {
			t.Fatal(err)
		}
		const parameters = "-----BEGIN EC PARAMETERS-----\nBggqhkjOPQMBBw==\n-----END EC PARAMETERS-----\n"
		for text, want := range map[string]string{parameters + string(key): "", parameters: "has no private key", "": "has no private key"} {
			if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
				t.Fatal(err)
			}
			if _, err := signer(t.Context(), path); (err == nil) != (want == "") || err != nil && !strings.Contains(err.Error(), want) {
				t.Errorf("%q: %v", text, err)
			}
		}
	})
	t.Run("KMS", func(t *testing.T) {
		program, err := os.Executable()
		if err != nil {
			t.Fatal(err)
		}
		folder := t.TempDir()
		if err := os.Symlink(program, filepath.Join(folder, kmsPlugin)); err != nil {
			t.Fatal(err)
		}
		t.Setenv("PATH", folder+string(os.PathListSeparator)+os.Getenv("PATH"))
		t.Setenv("TEST_KEY", newKey(t, nil))
		testSigned(t, "testing://release")
		t.Setenv("TEST_KEY", "missing.key")
		if _, err := signer(t.Context(), "testing://release"); err == nil {
			t.Error("a KMS without the key signs")
		}
	})
}

func testSigned(t *testing.T, key string) {
	by, err := signer(t.Context(), key)
	if err != nil {
		t.Fatal(err)
	}
	folder, files := madeBy(t, by)
	public, err := cryptoutils.UnmarshalPEMToPublicKey(files[publicKeyFile])
	if err != nil {
		t.Fatal(err)
	}
	verifier, err := signature.LoadVerifier(public, crypto.SHA256)
	if err != nil {
		t.Fatal(err)
	}
	verify := func(signed, sig []byte) error {
		return verifier.VerifySignature(bytes.NewReader(sig), bytes.NewReader(signed), options.WithContext(t.Context()))
	}
	if err := verify(files[checksumsFile], files[checksumsFile+".sig"]); err != nil {
		t.Error(err)
	}
	if verify(append(slices.Clone(files[checksumsFile]), '\n'), files[checksumsFile+".sig"]) == nil {
		t.Error("other checksums are verified")
	}
	if _, err := exec.LookPath("openssl"); err == nil {
		verified(t, folder)
	}
	listed := maps.Clone(files)
	for line := range strings.Lines(string(files[checksumsFile])) {
		delete(listed, strings.Fields(line)[1])
	}
	if got := slices.Sorted(maps.Keys(listed)); !slices.Equal(got, []string{checksumsFile, checksumsFile + ".sig"}) {
		t.Errorf("%q are neither signed nor in the checksums", got)
	}
	images := map[string]string{"gammaguard-webhook-v1.2.3-image": "registry.test/team/gammaguard-webhook", "gammaguard-v1.2.3-image": "registry.test/team/gammaguard-cli"}
	for base, name := range images {
		sig, err := base64.StdEncoding.DecodeString(string(files[base+".sig"]))
		if err == nil {
			err = verify(files[base+".payload.json"], sig)
		}
		digest, errDigest := oci.Digest(filepath.Join(folder, base+".tar"))
		want := fmt.Sprintf(`"identity":{"docker-reference":%q},"image":{"docker-manifest-digest":%q}`, name, digest)
		if err != nil || errDigest != nil || !bytes.Contains(files[base+".payload.json"], []byte(want)) {
			t.Errorf("%s: %v, %v, signed: %s\nwant %s", base, err, errDigest, files[base+".payload.json"], want)
		}
	}
	envelope := files["provenance.intoto.dsse.json"]
	if err := dsse.WrapVerifier(verifier).VerifySignature(bytes.NewReader(envelope), nil); err != nil {
		t.Error(err)
	}
	var signed struct{ Payload []byte }
	if err := json.Unmarshal(envelope, &signed); err != nil {
		t.Fatal(err)
	}
	testProvenance(t, signed.Payload, files)
}

// verified runs the command of docs/release.md.
func verified(t *testing.T, folder string) {
	t.Helper()
	page, err := os.ReadFile("../../docs/release.md")
	if err != nil {
		t.Fatal(err)
	}
	_, command, _ := strings.Cut(string(page), "```\nopenssl ")
	command, _, found := strings.Cut("openssl "+command, "\n```")
	if !found {
		t.Fatal("docs/release.md has no command with openssl")
	}
	run := exec.CommandContext(t.Context(), "sh", "-c", command)
	run.Dir = folder
	if out, err := run.CombinedOutput(); err != nil || !strings.Contains(string(out), "Verified OK") {
		t.Errorf("%s: %v\n%s", command, err, out)
	}
	if err := os.WriteFile(filepath.Join(folder, "install-default.yaml"), nil, 0o600); err != nil {
		t.Fatal(err)
	}
	run = exec.CommandContext(t.Context(), "sh", "-c", command)
	run.Dir = folder
	if out, err := run.CombinedOutput(); err == nil {
		t.Errorf("a file that was replaced is verified:\n%s", out)
	}
}

// testProvenance: the statement has each file that was made before it, and each image, by its digest.
func testProvenance(t *testing.T, text []byte, files map[string][]byte) {
	t.Helper()
	var statement struct {
		Type, PredicateType string
		Subject             []struct {
			Name   string
			Digest map[string]string
		}
		Predicate struct {
			BuildDefinition struct {
				ResolvedDependencies []struct{ Digest map[string]string }
			}
			RunDetails struct{ Builder struct{ ID string } }
		}
	}
	if err := json.Unmarshal(bytes.ReplaceAll(text, []byte(`"_type"`), []byte(`"type"`)), &statement); err != nil {
		t.Fatal(err)
	}
	sums := map[string]string{}
	for line := range strings.Lines(string(files[checksumsFile])) {
		fields := strings.Fields(line)
		sums[fields[1]] = fields[0]
	}
	images := 0
	for _, s := range statement.Subject {
		if strings.HasPrefix(s.Name, "image in ") {
			images++
		} else if s.Digest["sha256"] != sums[s.Name] {
			t.Errorf("%s: %s, want %s", s.Name, s.Digest["sha256"], sums[s.Name])
		}
	}
	if statement.Type != "https://in-toto.io/Statement/v1" || statement.PredicateType != predicateType || images != 2 || len(statement.Subject) < 15 ||
		statement.Predicate.BuildDefinition.ResolvedDependencies[0].Digest["gitCommit"] != "beef" || statement.Predicate.RunDetails.Builder.ID != "https://example.test/builder" {
		t.Errorf("provenance: %s", text)
	}
}

// TestNoKey: a key that is not there, that has another password, or that the documented command does not verify, is an error.
func TestNoKey(t *testing.T) {
	for _, key := range []string{"missing.key", "nobody://release", newKey(t, []byte("secret"))} {
		if _, err := signer(t.Context(), key); err == nil {
			t.Errorf("%s signs", key)
		}
	}
	_, key, err := ed25519.GenerateKey(nil)
	if err != nil {
		t.Fatal(err)
	}
	text, err := cryptoutils.MarshalPrivateKeyToPEM(key)
	if err != nil {
		t.Fatal(err)
	}
	path := filepath.Join(t.TempDir(), "ed25519.key")
	if err := os.WriteFile(path, text, 0o600); err != nil {
		t.Fatal(err)
	}
	if _, err := signer(t.Context(), path); err == nil || !strings.Contains(err.Error(), "ECDSA and RSA only") {
		t.Errorf("a key that openssl dgst does not verify: %v", err)
	}
}
