package conformance

import (
	"cmp"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"
)

// TestShapesOfReleases writes the shapes of the apiserver's answers to the rows into the folder that SHAPES names,
// and in a file .txt in what they differ from those of the go.mod's release, which must be there (make test-older).
func TestShapesOfReleases(t *testing.T) {
	if os.Getenv("SHAPES") == "" {
		t.Skip("SHAPES names no folder")
	}
	const newest = "controlplane"
	dir, file := os.Getenv("SHAPES"), filepath.Join(os.Getenv("SHAPES"), cmp.Or(os.Getenv("CONTROLPLANE"), newest))
	shapes, of := shapesOfRows(t), map[string]shape{}
	err := os.WriteFile(file+".json", must(json.Marshal(shapes)), 0o644)
	err = errors.Join(err, read(filepath.Join(dir, newest+".json"), &of))
	if err = errors.Join(err, os.WriteFile(file+".txt", []byte(differences(shapes, of)), 0o644)); err != nil {
		t.Fatal(err)
	}
}

// shapesOfRows returns the shape of the apiserver's answer to each row, also to those of features that it lacks.
func shapesOfRows(t *testing.T) map[string]shape {
	var mu sync.Mutex
	shapes := map[string]shape{}
	t.Run("rows", func(t *testing.T) {
		for _, row := range must(Load("testdata/rows")) {
			if row.Confirmed != "" {
				continue
			}
			t.Run(row.Name, func(t *testing.T) {
				t.Parallel()
				a, err := row.continued(t)[0].replace(variables).upstream().send(t.Context(), apiserver)
				if err != nil {
					t.Fatal(err)
				}
				mu.Lock()
				defer mu.Unlock()
				shapes[row.Name] = shapeOf(a)
			})
		}
	})
	return shapes
}

// differences says in which rows two releases differ (- what only the older has, + what only the newest has). Rows
// that differ in the same stand together.
func differences(older, newest map[string]shape) string {
	groups := map[string][]string{}
	for _, name := range slices.Sorted(maps.Keys(newest)) {
		var what strings.Builder
		for _, line := range older[name].without(newest[name]) {
			fmt.Fprintln(&what, "    -", line)
		}
		for _, line := range newest[name].without(older[name]) {
			fmt.Fprintln(&what, "    +", line)
		}
		if what.Len() > 0 {
			groups[what.String()] = append(groups[what.String()], name)
		}
	}
	var text strings.Builder
	for _, what := range slices.Sorted(maps.Keys(groups)) {
		fmt.Fprintf(&text, "%s\n%s", strings.Join(groups[what], "\n"), what)
	}
	return text.String()
}
