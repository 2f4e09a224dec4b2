package table

import (
	"time"

	"sluice/codec/json"
)

// A group lists the kinds of one API group.
type group struct {
	name  string
	kinds []kind
}

// A kind has the columns of one kind in the versions whose objects have the fields that the columns
// read. A kind whose columns have changed has an entry for each arrangement, the newest first.
type kind struct {
	name     string
	versions []string
	columns  *Columns
}

func versions(v ...string) []string { return v }

// groups are all API groups of kube-apiserver 1.37, alpha and beta versions included.
var groups = []group{
	admissionGroup,
	apiExtensionsGroup,
	apiRegistrationGroup,
	appsGroup,
	autoscalingGroup,
	batchGroup,
	certificatesGroup,
	coordinationGroup,
	coreGroup,
	discoveryGroup,
	eventsGroup,
	flowControlGroup,
	internalGroup,
	lifecycleGroup,
	networkingGroup,
	nodeGroup,
	policyGroup,
	rbacGroup,
	resourceGroup,
	schedulingGroup,
	storageGroup,
	migrationGroup,
}

type groupVersionKind struct{ group, version, kind string }

var builtins = func() map[groupVersionKind][]*Columns {
	m := make(map[groupVersionKind][]*Columns)
	for _, g := range groups {
		for _, k := range g.kinds {
			for _, v := range k.versions {
				gvk := groupVersionKind{g.name, v, k.name}
				m[gvk] = append(m[gvk], k.columns)
			}
		}
	}
	return m
}()

// Builtin returns the columns of one of the apiserver's own kinds that have the given definitions, the
// columnDefinitions of its Tables; ok is false if no known release serves them, whatever their
// descriptions. The core group is "". The release is 38 for an apiserver of Kubernetes 1.38, and 0 if it
// is unknown: ok is then false for kinds whose cells depend on it.
func Builtin(group, version, kind string, release int, definitions json.Value) (c *Columns, ok bool) {
	for _, known := range builtins[groupVersionKind{group, version, kind}] {
		if c, ok := known.As(definitions); ok {
			c.older = release < c.cellsSince
			return c, release > 0 || c.cellsSince == 0
		}
	}
	return nil, false
}

// Default returns the columns of kinds that define none: Name and Created At.
func Default() *Columns { return defaultColumns }

var defaultColumns = newColumns(nameColumn.documented("name"), createdColumn.documented("creationTimestamp")).with(rules{nullRows: true})

// createdColumn prints the creation timestamp; the year 1 if there is none.
var createdColumn = column{
	name: "Created At", typ: "date",
	cell: quoted(func(dst []byte, r *row) []byte { return timeOf(r.created()).UTC().AppendFormat(dst, time.RFC3339) }),
}
