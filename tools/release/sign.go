package main

import (
	"bytes"
	"context"
	"crypto"
	"crypto/ecdsa"
	"crypto/rsa"
	"encoding/base64"
	"encoding/json"
	"encoding/pem"
	"fmt"
	"os"
	"path/filepath"
	"strings"

	"github.com/google/go-containerregistry/pkg/name"
	"github.com/sigstore/sigstore/pkg/cryptoutils"
	"github.com/sigstore/sigstore/pkg/signature"
	"github.com/sigstore/sigstore/pkg/signature/kms"
	"github.com/sigstore/sigstore/pkg/signature/payload"

	"github.com/gammaguard/gammaguard/tools/release/oci"
)

// The checksums of all other files, and the key by which signatures are verified.
const (
	checksumsFile = "checksums.txt"
	publicKeyFile = "gammaguard.pub"
)

// password is the environment variable with the password of a key in a file.
const password = "RELEASE_KEY_PASSWORD"

// signer returns what signs with the key: the path of a private key in PEM, encrypted or not, or
// the URI of one in a KMS, whose plugin sigstore-kms-NAME is in PATH; nil where there is no key. The KMS is asked for the key. It is
// an error if the command of docs/release.md does not verify what the key signs.
func signer(ctx context.Context, key string) (of signature.SignerVerifier, err error) {
	switch {
	case key == "":
		return nil, nil
	case strings.Contains(key, "://"):
		of, err = kms.Get(ctx, key, crypto.SHA256)
	default:
		of, err = fromFile(key)
	}
	if err != nil {
		return nil, err
	}
	public, err := of.PublicKey()
	if err != nil {
		return nil, err
	}
	switch public.(type) {
	case *ecdsa.PublicKey, *rsa.PublicKey:
		return of, nil
	}
	return nil, fmt.Errorf("a key of type %T: openssl dgst verifies ECDSA and RSA only, such as one of openssl genpkey -algorithm EC -pkeyopt ec_paramgen_curve:P-256", public)
}

// fromFile returns what signs with the first private key in the file. Other blocks, such as the EC PARAMETERS that openssl writes
// before a key, are passed over.
func fromFile(path string) (signature.SignerVerifier, error) {
	text, err := os.ReadFile(path)
	if err != nil {
		return nil, err
	}
	for block, rest := pem.Decode(text); block != nil; block, rest = pem.Decode(rest) {
		if !strings.HasSuffix(block.Type, "PRIVATE KEY") {
			continue
		}
		key, err := cryptoutils.UnmarshalPEMToPrivateKey(pem.EncodeToMemory(block), keyPassword)
		if err != nil {
			return nil, fmt.Errorf("%s: %w", path, err)
		}
		return signature.LoadSignerVerifier(key, crypto.SHA256)
	}
	return nil, fmt.Errorf("%s has no private key in PEM", path)
}

// keyPassword returns the password of a key that is encrypted.
func keyPassword(bool) ([]byte, error) {
	if secret := os.Getenv(password); secret != "" {
		return []byte(secret), nil
	}
	return nil, fmt.Errorf("the key is encrypted: set %s", password)
}

// publicKey writes the key by which signatures are verified.
func (r *release) publicKey() error {
	if r.signer == nil {
		return nil
	}
	key, err := r.signer.PublicKey()
	if err != nil {
		return fmt.Errorf("public key: %w", err)
	}
	text, err := cryptoutils.MarshalPublicKeyToPEM(key)
	if err != nil {
		return err
	}
	return r.write(publicKeyFile, text)
}

// signImages writes for each image what a registry keeps of a signature of it: what is signed,
// by the image's digest, and the signature in base64.
func (r *release) signImages() error {
	if r.signer == nil {
		return nil
	}
	archives, err := filepath.Glob(filepath.Join(r.out, "*-image.tar"))
	if err != nil {
		return err
	}
	for _, archive := range archives {
		image, err := oci.Digest(archive)
		if err != nil {
			return err
		}
		base := strings.TrimSuffix(filepath.Base(archive), ".tar")
		digest, err := name.NewDigest(r.imageName(strings.TrimSuffix(base, "-"+r.version+"-image")) + "@" + image)
		if err != nil {
			return err
		}
		text, err := json.Marshal(payload.Cosign{Image: digest})
		if err != nil {
			return err
		}
		sig, err := r.signer.SignMessage(bytes.NewReader(text))
		if err != nil {
			return fmt.Errorf("sign the image: %w", err)
		}
		if err := r.write(base+".payload.json", text); err != nil {
			return err
		}
		if err := r.write(base+".sig", []byte(base64.StdEncoding.EncodeToString(sig))); err != nil {
			return err
		}
	}
	return nil
}

// signChecksums writes the signature of the checksums, as openssl verifies it: they are those of all
// other files, so that one signature is that of all.
func (r *release) signChecksums() error {
	if r.signer == nil {
		return nil
	}
	text, err := os.ReadFile(filepath.Join(r.out, checksumsFile))
	if err != nil {
		return err
	}
	sig, err := r.signer.SignMessage(bytes.NewReader(text))
	if err != nil {
		return fmt.Errorf("sign the checksums: %w", err)
	}
	return r.write(checksumsFile+".sig", sig)
}
