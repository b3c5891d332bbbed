package main

import (
	"bytes"
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"runtime"

	provenance "github.com/in-toto/attestation/go/predicates/provenance/v1"
	intoto "github.com/in-toto/attestation/go/v1"
	"github.com/sigstore/sigstore/pkg/signature/dsse"
	"google.golang.org/protobuf/encoding/protojson"
	"google.golang.org/protobuf/types/known/structpb"

	"github.com/gammaguard/gammaguard/tools/release/oci"
)

// What the provenance names: see docs/release.md.
const (
	predicateType = "https://slsa.dev/provenance/v1"
	buildType     = "https://github.com/gammaguard/gammaguard/blob/main/docs/release.md#how-a-release-is-built"
	repository    = "git+https://github.com/gammaguard/gammaguard"
	intotoPayload = "application/vnd.in-toto+json"
)

// provenance writes how the files and the images came to be, as a statement of in-toto with the predicate
// of SLSA 1.0: in an envelope (DSSE) if there is a key, and as it is if not.
func (r *release) provenance() error {
	statement := &intoto.Statement{Type: intoto.StatementTypeUri, PredicateType: predicateType}
	entries, err := os.ReadDir(r.out)
	if err != nil {
		return err
	}
	for _, entry := range entries {
		path := filepath.Join(r.out, entry.Name())
		sum, err := sha256Of(path)
		if err != nil {
			return err
		}
		statement.Subject = append(statement.Subject, subject(entry.Name(), "sha256", sum))
		if image, err := oci.Digest(path); filepath.Ext(path) == ".tar" && err == nil {
			statement.Subject = append(statement.Subject, subject("image in "+entry.Name(), "sha256", image[len("sha256:"):]))
		}
	}
	if statement.Predicate, err = r.predicate(); err != nil {
		return err
	}
	if err := statement.Validate(); err != nil {
		return err
	}
	text, err := stable(statement)
	if err != nil {
		return err
	}
	file := "provenance.intoto.json"
	if r.signer != nil {
		if text, err = dsse.WrapSigner(r.signer, intotoPayload).SignMessage(bytes.NewReader(text)); err != nil {
			return fmt.Errorf("sign the provenance: %w", err)
		}
		file = "provenance.intoto.dsse.json"
	}
	return r.write(file, text)
}

func subject(name, algorithm, digest string) *intoto.ResourceDescriptor {
	return &intoto.ResourceDescriptor{Name: name, Digest: map[string]string{algorithm: digest}}
}

// predicate says what was built of what, by whom.
func (r *release) predicate() (*structpb.Struct, error) {
	var platforms []any
	for _, p := range r.platforms {
		platforms = append(platforms, p.String())
	}
	parameters, err := structpb.NewStruct(map[string]any{"version": r.version, "image": r.image, "platforms": platforms})
	if err != nil {
		return nil, err
	}
	modules, err := sha256Of(filepath.Join(r.root, "go.sum"))
	if err != nil {
		return nil, err
	}
	text, err := protojson.Marshal(&provenance.Provenance{
		BuildDefinition: &provenance.BuildDefinition{
			BuildType: buildType, ExternalParameters: parameters,
			ResolvedDependencies: []*intoto.ResourceDescriptor{
				{Uri: repository, Digest: map[string]string{"gitCommit": r.revision}},
				subject("go.sum", "sha256", modules),
			},
		},
		RunDetails: &provenance.RunDetails{Builder: &provenance.Builder{Id: r.builder, Version: map[string]string{"go": runtime.Version()}}},
	})
	if err != nil {
		return nil, err
	}
	predicate := &structpb.Struct{}
	return predicate, protojson.Unmarshal(text, predicate)
}

// stable returns the statement in JSON, always the same: protojson puts spaces in some processes.
func stable(statement *intoto.Statement) ([]byte, error) {
	text, err := protojson.Marshal(statement)
	if err != nil {
		return nil, err
	}
	var out bytes.Buffer
	err = json.Indent(&out, text, "", "  ")
	return out.Bytes(), err
}
