// Package controllers has the one name of sigs.k8s.io/mcs-api/controllers that Cilium's translation
// needs.
package controllers

// DerivedServiceAnnotation is the annotation of a ServiceImport that names its Service.
const DerivedServiceAnnotation = "multicluster.kubernetes.io/derived-service"
