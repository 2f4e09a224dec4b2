package codectest

import (
	"encoding/json"
	"fmt"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"sluice/codec/table"
)

// PodColumns returns the columns of pods, with descriptions that no release has.
func PodColumns() *table.Columns {
	definitions := []metav1.TableColumnDefinition{
		{Name: "Name", Format: "name"}, {Name: "Ready"}, {Name: "Status"}, {Name: "Restarts"}, {Name: "Age"},
		{Name: "IP", Priority: 1}, {Name: "Node", Priority: 1}, {Name: "Nominated Node", Priority: 1}, {Name: "Readiness Gates", Priority: 1},
	}
	for i := range definitions {
		definitions[i].Type, definitions[i].Description = "string", "Description of "+definitions[i].Name+"."
	}
	text, err := json.Marshal(definitions)
	c, ok := table.Builtin("", "v1", "Pod", 37, text)
	if err != nil || !ok {
		panic(fmt.Sprintf("no pods have these columns: %s, %v", text, err))
	}
	return c
}
