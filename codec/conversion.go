package codec

import "sluice/codec/proto"

// conversionAnnotations returns the annotations that the apiserver makes of fields of its internal type
// when it converts an object to the version of r, and turns back into fields when it reads one. Whole
// objects have them. PartialObjectMetadata, also in the rows of Tables, does not: the apiserver takes it
// from the internal object. Sources: conversion.go in pkg/apis/apps/v1 and pkg/apis/autoscaling/v1.
func conversionAnnotations(r *Resource) []string {
	if r.Style != Typed {
		return nil
	}
	return annotationsOfConversion[apiKind{r.APIVersion(), r.Kind}]
}

type apiKind struct{ apiVersion, kind string }

var annotationsOfConversion = map[apiKind][]string{
	{"apps/v1", "DaemonSet"}:  {"deprecated.daemonset.template.generation"},
	{"apps/v1", "Deployment"}: {"deprecated.deployment.rollback.to"},
	{"autoscaling/v1", "HorizontalPodAutoscaler"}: {
		"autoscaling.alpha.kubernetes.io/behavior",
		"autoscaling.alpha.kubernetes.io/conditions",
		"autoscaling.alpha.kubernetes.io/current-metrics",
		"autoscaling.alpha.kubernetes.io/metrics",
	},
}

// dropConversionAnnotations returns e, an encoder of Protobuf, for objects without the annotations of r's conversion.
func dropConversionAnnotations(e objectEncoder, r *Resource) objectEncoder {
	keys := conversionAnnotations(r)
	if keys == nil || e == nil {
		return e
	}
	return pipe(alike(func(dst, src []byte) ([]byte, error) { return proto.AppendWithoutAnnotations(dst, src, keys...) }), e)
}
