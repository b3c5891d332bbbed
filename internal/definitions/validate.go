package definitions

import (
	"context"

	"k8s.io/apiextensions-apiserver/pkg/apiserver/schema/cel"
	"k8s.io/apiextensions-apiserver/pkg/apiserver/schema/cel/model"
	"k8s.io/apiextensions-apiserver/pkg/apiserver/schema/listtype"
	"k8s.io/apiextensions-apiserver/pkg/apiserver/schema/objectmeta"
	"k8s.io/apiextensions-apiserver/pkg/apiserver/validation"
	apivalidation "k8s.io/apimachinery/pkg/api/validation"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/util/validation/field"
	celconfig "k8s.io/apiserver/pkg/apis/cel"
	"k8s.io/apiserver/pkg/cel/common"
)

// This file is the order of k8s.io/apiextensions-apiserver/pkg/registry/customresource,
// which is not imported: it brings the storage of an API server with it.

// validateCreate validates a decoded object.
func (d *definition) validateCreate(ctx context.Context, v *version, object map[string]any) (field.ErrorList, error) {
	schema, err := v.schema()
	if err != nil {
		return nil, err
	}
	accessor := &unstructured.Unstructured{Object: object}
	if accessor.GetName() == "" && accessor.GetGenerateName() != "" {
		accessor.SetName(generatedName(accessor.GetGenerateName()))
		defer accessor.SetName("")
	}
	if v.status {
		delete(object, "status")
	}
	errs := apivalidation.ValidateObjectMetaAccessor(accessor, d.namespaced, apivalidation.NameIsDNSSubdomain, field.NewPath("metadata"))
	errs = append(errs, validation.ValidateCustomResource(nil, object, schema)...)
	errs = append(errs, objectmeta.Validate(nil, object, v.structural, false)...)
	errs = append(errs, listtype.ValidateListSetsAndMaps(nil, v.structural, object)...)
	return append(errs, v.validateRules(ctx, errs, object, nil)...), nil
}

// validateUpdate validates a decoded object that takes the place of another one.
// What is wrong with the old one already, and not changed, is let pass.
func (v *version) validateUpdate(ctx context.Context, object, old map[string]any) (field.ErrorList, error) {
	schema, err := v.schema()
	if err != nil {
		return nil, err
	}
	to, from := &unstructured.Unstructured{Object: object}, &unstructured.Unstructured{Object: old}
	v.keepServerFields(to, from)
	correlated := common.NewCorrelatedObject(object, old, &model.Structural{Structural: v.structural})
	errs := apivalidation.ValidateObjectMetaAccessorUpdate(to, from, field.NewPath("metadata"))
	errs = append(errs, validation.ValidateCustomResourceUpdate(nil, object, old, schema, validation.WithRatcheting(correlated))...)
	errs = append(errs, objectmeta.Validate(nil, object, v.structural, false)...)
	if len(listtype.ValidateListSetsAndMaps(nil, v.structural, old)) == 0 {
		errs = append(errs, listtype.ValidateListSetsAndMaps(nil, v.structural, object)...)
	}
	return append(errs, v.validateRules(ctx, errs, object, old, cel.WithRatcheting(correlated))...), nil
}

// validateRules evaluates the CEL rules, unless an error before them leaves no
// value of the right type to evaluate.
func (v *version) validateRules(ctx context.Context, before field.ErrorList, object, old map[string]any, options ...cel.Option) field.ErrorList {
	for _, err := range before {
		switch err.Type {
		case field.ErrorTypeNotSupported, field.ErrorTypeRequired, field.ErrorTypeTooLong, field.ErrorTypeTooMany, field.ErrorTypeTypeInvalid:
			return field.ErrorList{field.Invalid(nil, nil, "some validation rules were not checked because the object was invalid; correct the existing errors to complete validation")}
		}
	}
	rules := v.rules()
	if rules == nil {
		return nil
	}
	var oldObject any // nil of that type where there is no old object
	if old != nil {
		oldObject = old
	}
	errs, _ := rules.Validate(ctx, nil, v.structural, object, oldObject, celconfig.RuntimeCELCostBudget, options...)
	return errs
}

// keepServerFields gives the object what a write cannot change, or need not name.
func (v *version) keepServerFields(object, old *unstructured.Unstructured) {
	if object.GetUID() == "" {
		object.SetUID(old.GetUID())
	}
	if old.GetResourceVersion() == "" { // it comes from a file
		old.SetResourceVersion("1")
	}
	object.SetResourceVersion(old.GetResourceVersion())
	object.SetGeneration(old.GetGeneration())
	object.SetCreationTimestamp(old.GetCreationTimestamp())
	object.SetDeletionTimestamp(old.GetDeletionTimestamp())
	object.SetDeletionGracePeriodSeconds(old.GetDeletionGracePeriodSeconds())
	if !v.status {
		return
	}
	if status, has := old.Object["status"]; has {
		object.Object["status"] = status
	} else {
		delete(object.Object, "status")
	}
}

// generatedName is a name as the API server generates it.
func generatedName(prefix string) string {
	const maxPrefix = 58
	return prefix[:min(len(prefix), maxPrefix)] + "xxxxx"
}
