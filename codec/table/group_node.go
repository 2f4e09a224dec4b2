package table

var nodeGroup = group{"node.k8s.io", []kind{
	{"RuntimeClass", versions("v1"), usual(text("Handler", str("handler")))},
}}
