package codec

import "sluice/codec/projection"

// annotationsOfConversion are the annotations that the apiserver makes of fields of its internal type
// when it converts an object to a version, and turns back into fields when it reads one. Whole
// objects have them. PartialObjectMetadata, also in the rows of Tables, does not: the apiserver takes it
// from the internal object. Sources: conversion.go in pkg/apis/apps/v1 and pkg/apis/autoscaling/v1.
var annotationsOfConversion = map[apiKind]projection.Projection{
	{"apps/v1", "DaemonSet"}:  "drop=metadata.annotations[deprecated.daemonset.template.generation]",
	{"apps/v1", "Deployment"}: "drop=metadata.annotations[deprecated.deployment.rollback.to]",
	{"autoscaling/v1", "HorizontalPodAutoscaler"}: "drop=metadata.annotations[autoscaling.alpha.kubernetes.io/behavior]" +
		"+metadata.annotations[autoscaling.alpha.kubernetes.io/conditions]" +
		"+metadata.annotations[autoscaling.alpha.kubernetes.io/current-metrics]" +
		"+metadata.annotations[autoscaling.alpha.kubernetes.io/metrics]",
}

type apiKind struct{ apiVersion, kind string }

// conversion returns the projection without the annotations of r's conversion; the zero value if it has none.
func conversion(r *Resource) projection.Projection {
	if r.Style != Typed {
		return ""
	}
	return annotationsOfConversion[apiKind{r.APIVersion(), r.Kind}]
}

// withoutConversion returns e, which gives metadata, for objects without the annotations of r's conversion.
func withoutConversion(e objectEncoder, r *Resource) (objectEncoder, error) {
	p := conversion(r)
	if p == "" {
		return e, nil
	}
	first, err := newObjectEncoder(r, Format{Encoding: r.Source, Projection: p})
	if err != nil {
		return nil, err
	}
	return pipe(first, e), nil
}
