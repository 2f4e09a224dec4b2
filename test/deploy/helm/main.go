// Command chart prints what helm install would create of a chart, as helm template does. It is a program of
// its own because helm itself takes minutes to build, of which this needs the smallest part.
//
//	chart DIR RELEASE NAMESPACE [VALUES...]    VALUES are YAML files; later ones win
package main

import (
	"fmt"
	"maps"
	"os"
	"slices"
	"strings"

	"helm.sh/helm/v4/pkg/chart/common"
	"helm.sh/helm/v4/pkg/chart/common/util"
	"helm.sh/helm/v4/pkg/chart/v2/loader"
	"helm.sh/helm/v4/pkg/engine"
)

func main() {
	if err := run(os.Args[1:]); err != nil {
		fmt.Fprintln(os.Stderr, "chart:", err)
		os.Exit(1)
	}
}

func run(args []string) error {
	if len(args) < 3 {
		return fmt.Errorf("name the chart's directory, the release and the namespace")
	}
	chart, err := loader.LoadDir(args[0])
	if err != nil {
		return err
	}
	given := map[string]any{}
	for _, file := range args[3:] {
		values, err := read(file)
		if err != nil {
			return fmt.Errorf("%s: %w", file, err)
		}
		given = loader.MergeMaps(given, values)
	}
	release := common.ReleaseOptions{Name: args[1], Namespace: args[2], Revision: 1, IsInstall: true}
	values, err := util.ToRenderValues(chart, given, release, common.DefaultCapabilities) // checks the schema
	if err != nil {
		return err
	}
	files, err := engine.Engine{Strict: true}.Render(chart, values)
	if err != nil {
		return err
	}
	for _, name := range slices.Sorted(maps.Keys(files)) {
		if text := strings.TrimSpace(files[name]); text != "" && strings.HasSuffix(name, ".yaml") {
			fmt.Printf("---\n# Source: %s\n%s\n", name, text)
		}
	}
	return nil
}

func read(file string) (map[string]any, error) {
	f, err := os.Open(file)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	return loader.LoadValues(f)
}
