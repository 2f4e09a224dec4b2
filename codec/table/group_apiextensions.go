package table

var apiExtensionsGroup = group{"apiextensions.k8s.io", []kind{
	{"CustomResourceDefinition", versions("v1"), defaultColumns},
}}
