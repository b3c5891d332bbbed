package guard

import (
	"bytes"
	"context"
	"encoding/base64"
	"errors"
	"fmt"
	"io/fs"
	"path"
	"strings"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"sigs.k8s.io/yaml"

	"github.com/gammaguard/gammaguard/config"
	"github.com/gammaguard/gammaguard/test/bed"
)

// Manifests returns the objects in a folder of config/, such as "webhook", as they
// would be installed.
func Manifests(folder string) ([]*unstructured.Unstructured, error) {
	files, err := fs.Glob(config.Manifests, path.Join(folder, "*.yaml"))
	if err != nil {
		return nil, fmt.Errorf("read config/%s: %w", folder, err)
	}
	var objects []*unstructured.Unstructured
	for _, file := range files {
		if path.Base(file) == "kustomization.yaml" {
			continue
		}
		data, err := config.Manifests.ReadFile(file)
		if err != nil {
			return nil, fmt.Errorf("read config/%s: %w", file, err)
		}
		for document := range strings.SplitSeq("\n"+string(data), "\n---") {
			object := &unstructured.Unstructured{}
			if err := yaml.Unmarshal([]byte(document), &object.Object); err != nil {
				return nil, fmt.Errorf("read config/%s: %w", file, err)
			}
			if len(object.Object) > 0 {
				objects = append(objects, object)
			}
		}
	}
	return objects, nil
}

// Install applies what gammaguard needs beside its webhooks, from config/rbac and
// config/policy, and waits until the API server enforces the policies.
func Install(ctx context.Context, cp *bed.ControlPlane) error {
	const namespace = `{apiVersion: v1, kind: Namespace, metadata: {name: gammaguard-system}}`
	if err := apply(ctx, cp, []byte(namespace)); err != nil {
		return err
	}
	var objects []*unstructured.Unstructured
	for _, folder := range []string{"rbac", "policy"} {
		found, err := Manifests(folder)
		if err != nil {
			return err
		}
		objects = append(objects, found...)
	}
	if err := applyObjects(ctx, cp, objects); err != nil {
		return err
	}
	for _, object := range objects {
		if object.GetKind() != "ValidatingAdmissionPolicy" {
			continue
		}
		if err := awaitPolicy(ctx, cp, object.GetName()); err != nil {
			return fmt.Errorf("wait until the ValidatingAdmissionPolicy %s acts: %w", object.GetName(), err)
		}
	}
	return nil
}

// Register registers the webhooks of config/webhook at a base URL on loopback,
// such as https://127.0.0.1:9443, in place of the Service, and waits until the
// API server calls them. The CA bundle is in PEM.
func Register(ctx context.Context, cp *bed.ControlPlane, baseURL string, caBundle []byte) error {
	objects, err := Manifests("webhook")
	if err != nil {
		return err
	}
	var names []string
	for _, object := range objects {
		found, err := redirect(object, baseURL, caBundle)
		if err != nil {
			return fmt.Errorf("config/webhook, %s %s: %w", object.GetKind(), object.GetName(), err)
		}
		names = append(names, found...)
	}
	if err := applyObjects(ctx, cp, objects); err != nil {
		return err
	}
	for _, name := range names {
		if err := awaitWebhook(ctx, cp, name); err != nil {
			return fmt.Errorf("wait until the API server calls the webhook %s: %w", name, err)
		}
	}
	return nil
}

// redirect points the webhooks of a registration to a base URL, and returns their
// names.
func redirect(object *unstructured.Unstructured, baseURL string, caBundle []byte) ([]string, error) {
	webhooks, found, err := unstructured.NestedSlice(object.Object, "webhooks")
	if err != nil || !found {
		return nil, errors.Join(errors.New("no webhooks"), err)
	}
	var names []string
	for _, w := range webhooks {
		webhook, ok := w.(map[string]any)
		if !ok {
			return nil, errors.New("webhooks: not a list of objects")
		}
		name, _, err := unstructured.NestedString(webhook, "name")
		if err != nil {
			return nil, err
		}
		servicePath, found, err := unstructured.NestedString(webhook, "clientConfig", "service", "path")
		if err != nil || !found {
			return nil, errors.Join(fmt.Errorf("webhook %s: no clientConfig.service.path", name), err)
		}
		webhook["clientConfig"] = map[string]any{
			"url":      baseURL + servicePath,
			"caBundle": base64.StdEncoding.EncodeToString(caBundle),
		}
		names = append(names, name)
	}
	object.Object["webhooks"] = webhooks
	return names, nil
}

func applyObjects(ctx context.Context, cp *bed.ControlPlane, objects []*unstructured.Unstructured) error {
	var manifest bytes.Buffer
	for _, object := range objects {
		document, err := yaml.Marshal(object.Object)
		if err != nil {
			return fmt.Errorf("write %s %s: %w", object.GetKind(), object.GetName(), err)
		}
		manifest.WriteString("---\n")
		manifest.Write(document)
	}
	return apply(ctx, cp, manifest.Bytes())
}

func apply(ctx context.Context, cp *bed.ControlPlane, manifest []byte) error {
	if len(manifest) == 0 {
		return nil
	}
	_, stderr, err := cp.Kubectl(ctx, string(manifest), "apply", "--server-side", "--force-conflicts", "-f", "-")
	if err != nil {
		return fmt.Errorf("%w: %s", err, stderr)
	}
	return nil
}
