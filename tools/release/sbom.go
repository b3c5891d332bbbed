package main

import (
	"bytes"
	"debug/buildinfo"
	"fmt"
	"runtime/debug"
	"slices"
	"strings"

	cyclonedx "github.com/CycloneDX/cyclonedx-go"
)

// sboms writes what each program is made of, as a CycloneDX document: the modules that Go
// has noted in the binary. These are the same on each platform that it is built for alike;
// the first one's are written.
func (r *release) sboms() error {
	for _, program := range []string{webhook, cli} {
		i := slices.IndexFunc(r.platforms, func(p platform) bool { return p.os == "linux" && r.has(program, p) })
		if i < 0 {
			continue
		}
		info, err := buildinfo.ReadFile(r.binary(program, r.platforms[i]))
		if err != nil {
			return err
		}
		var text bytes.Buffer
		encoder := cyclonedx.NewBOMEncoder(&text, cyclonedx.BOMFileFormatJSON).SetPretty(true)
		if err := encoder.EncodeVersion(r.sbom(program, info), cyclonedx.SpecVersion1_6); err != nil {
			return fmt.Errorf("SBOM of %s: %w", program, err)
		}
		if err := r.write(program+"-"+r.version+"-sbom.cdx.json", text.Bytes()); err != nil {
			return err
		}
	}
	return nil
}

func (r *release) sbom(program string, info *debug.BuildInfo) *cyclonedx.BOM {
	bom := cyclonedx.NewBOM()
	bom.Metadata = &cyclonedx.Metadata{Component: component(cyclonedx.ComponentTypeApplication, program, info.Main.Path, r.version)}
	components := []cyclonedx.Component{
		*component(cyclonedx.ComponentTypeLibrary, "std", "std", strings.TrimPrefix(info.GoVersion, "go")),
	}
	for _, module := range info.Deps {
		if module.Replace != nil {
			module = module.Replace
		}
		components = append(components, *component(cyclonedx.ComponentTypeLibrary, module.Path, module.Path, module.Version))
	}
	bom.Components = &components
	return bom
}

func component(kind cyclonedx.ComponentType, name, path, version string) *cyclonedx.Component {
	url := "pkg:golang/" + path + "@" + strings.ReplaceAll(version, "+", "%2B")
	return &cyclonedx.Component{Type: kind, BOMRef: url, Name: name, Version: version, PackageURL: url}
}
