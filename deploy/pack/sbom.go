package main

import (
	"crypto/sha256"
	"debug/buildinfo"
	"encoding/json"
	"fmt"
	"io"
	"os"
	"runtime/debug"
	"strings"

	"github.com/spdx/tools-golang/spdx/v2/common"
	spdx "github.com/spdx/tools-golang/spdx/v2/v2_3"
)

// writeSBOM writes an SPDX 2.3 document of the modules that a Go binary was built from. Its source is the
// list that the linker put into the binary, so it holds the linked modules and nothing else.
func writeSBOM(o options, args []string) error {
	if len(args) != 1 {
		return fmt.Errorf("sbom takes one binary")
	}
	info, err := buildinfo.ReadFile(args[0])
	if err != nil {
		return err
	}
	data, err := os.ReadFile(args[0])
	if err != nil {
		return err
	}
	document := sbomOf(o, info, fmt.Sprintf("%x", sha256.Sum256(data)))
	return create(o.out, func(w io.Writer) error {
		e := json.NewEncoder(w)
		e.SetIndent("", "  ")
		return e.Encode(document)
	})
}

func sbomOf(o options, info *debug.BuildInfo, sum string) *spdx.Document {
	root := module("sluice", o.version)
	root.PackageLicenseDeclared = "Apache-2.0"
	root.PackageChecksums = []common.Checksum{{Algorithm: common.SHA256, Value: sum}}
	root.PrimaryPackagePurpose = "APPLICATION"
	d := &spdx.Document{
		SPDXVersion: spdx.Version, DataLicense: spdx.DataLicense, SPDXIdentifier: "DOCUMENT",
		DocumentName:      "sluice " + o.version,
		DocumentNamespace: "https://spdx.org/spdxdocs/sluice-" + sum,
		CreationInfo: &spdx.CreationInfo{
			Creators: []common.Creator{{CreatorType: "Tool", Creator: "sluice/deploy/pack"}},
			Created:  o.epoch.Format("2006-01-02T15:04:05Z"),
		},
		Packages:      []*spdx.Package{root},
		Relationships: []*spdx.Relationship{related("DOCUMENT", "DESCRIBES", root)},
	}
	deps := []*spdx.Package{module("stdlib", strings.TrimPrefix(info.GoVersion, "go"))}
	for _, dep := range info.Deps {
		if dep.Replace != nil {
			dep = dep.Replace
		}
		deps = append(deps, module(dep.Path, dep.Version))
	}
	for _, p := range deps {
		d.Packages = append(d.Packages, p)
		d.Relationships = append(d.Relationships, related(root.PackageSPDXIdentifier, "DEPENDS_ON", p))
	}
	return d
}

// module describes a Go module. Vulnerability scanners look it up by the Package URL. The licence
// of a dependency is not known from the binary.
func module(path, version string) *spdx.Package {
	return &spdx.Package{
		PackageName: path, PackageVersion: version,
		PackageSPDXIdentifier:   common.ElementID("Package-" + identifier(path)),
		PackageDownloadLocation: "NOASSERTION", PackageLicenseConcluded: "NOASSERTION",
		PackageLicenseDeclared: "NOASSERTION", PackageCopyrightText: "NOASSERTION",
		PackageExternalReferences: []*spdx.PackageExternalReference{{
			Category: common.CategoryPackageManager, RefType: common.TypePackageManagerPURL,
			Locator: "pkg:golang/" + path + "@" + version,
		}},
	}
}

func related(from common.ElementID, how string, to *spdx.Package) *spdx.Relationship {
	return &spdx.Relationship{
		RefA: common.MakeDocElementID("", string(from)), Relationship: how,
		RefB: common.MakeDocElementID("", string(to.PackageSPDXIdentifier)),
	}
}

// identifier makes a module path fit an SPDX identifier, which has only letters, digits, dots and hyphens.
func identifier(path string) string {
	return strings.NewReplacer("/", "-", "_", "-", "~", "-").Replace(path)
}
