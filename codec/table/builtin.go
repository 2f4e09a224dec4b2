package table

// group is the printed kinds of one API group.
type group struct {
	name  string
	kinds []kind
}

// kind is one kind in the versions whose objects have the fields that the
// columns read.
type kind struct {
	name     string
	versions []string
	columns  *Columns
}

func versions(v ...string) []string { return v }

// groups is everything that kube-apiserver 1.36 can list, alpha and beta
// versions included.
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

var builtins = func() map[groupVersionKind]*Columns {
	m := make(map[groupVersionKind]*Columns)
	for _, g := range groups {
		for _, k := range g.kinds {
			for _, v := range k.versions {
				m[groupVersionKind{g.name, v, k.name}] = k.columns
			}
		}
	}
	return m
}()

// Builtin returns how the apiserver prints one of its own kinds; ok is false
// for a kind or version that this package does not know. The core group is
// "".
func Builtin(group, version, kind string) (c *Columns, ok bool) {
	c, ok = builtins[groupVersionKind{group, version, kind}]
	return c, ok
}
