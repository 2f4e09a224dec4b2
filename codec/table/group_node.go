package table

var nodeGroup = group{"node.k8s.io", []kind{
	{"RuntimeClass", versions("v1"), newColumns(
		nameColumn,
		text("Handler", str("handler")),
		ageColumn,
	)},
}}
