package main

import (
	"context"
	_ "embed" // the CRD of backups
	"fmt"
	"math/rand/v2"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/dynamic"
	"sigs.k8s.io/yaml"

	"sluice/test/harness"
)

const (
	backupCount    = 50
	backupInterval = time.Second // between changes of any backup's status
)

//go:embed backups_crd.yaml
var backupDefinition []byte

var (
	definitions = schema.GroupVersionResource{Group: "apiextensions.k8s.io", Version: "v1", Resource: "customresourcedefinitions"}
	backups     = schema.GroupVersionResource{Group: "storage.example.com", Version: "v1", Resource: "backups"}
)

// makeBackups creates a CRD and some of its custom resources.
func (s *samples) makeBackups(ctx context.Context) error {
	definition := &unstructured.Unstructured{}
	if err := yaml.Unmarshal(backupDefinition, &definition.Object); err != nil {
		return fmt.Errorf("definition of backups: %w", err)
	}
	if _, err := s.dynamic.Resource(definitions).Create(ctx, definition, metav1.CreateOptions{FieldValidation: metav1.FieldValidationStrict}); err != nil {
		return err
	}
	for i := range backupCount {
		// The apiserver serves a custom resource a moment after its CRD exists.
		if err := harness.Poll(ctx, func() error { return s.makeBackup(ctx, i) }); err != nil {
			return err
		}
		if err := s.setBackup(ctx, i, "Completed"); err != nil {
			return err
		}
	}
	return nil
}

func (s *samples) makeBackup(ctx context.Context, i int) error {
	b := &unstructured.Unstructured{Object: map[string]any{
		"apiVersion": backups.GroupVersion().String(), "kind": "Backup",
		"metadata": map[string]any{"name": backupName(i)},
		"spec": map[string]any{
			"schedule": fmt.Sprintf("%d %d * * *", i, i%24),
			"source":   map[string]any{"volumeClaim": fmt.Sprintf("data-postgres-%d", i)},
		},
	}}
	_, err := s.backupsOf(i).Create(ctx, b, metav1.CreateOptions{FieldValidation: metav1.FieldValidationStrict})
	return err
}

func (s *samples) backupsOf(i int) dynamic.ResourceInterface {
	return s.dynamic.Resource(backups).Namespace(namespaces[i%len(namespaces)])
}

func backupName(i int) string { return fmt.Sprintf("nightly-%02d", i) }

// setBackup writes the phase of a backup into its status.
func (s *samples) setBackup(ctx context.Context, i int, phase string) error {
	status := fmt.Sprintf(`{"status":{"phase":%q,"lastRun":%q,"size":"%dGi"}}`,
		phase, time.Now().UTC().Format(time.RFC3339), rand.IntN(400)+1)
	_, err := s.backupsOf(i).Patch(ctx, backupName(i), types.MergePatchType, []byte(status), metav1.PatchOptions{}, "status")
	return err
}

// runBackups changes the status of random backups until the context ends.
func (s *samples) runBackups(ctx context.Context) error {
	every(ctx, backupInterval, func() {
		phase := []string{"Running", "Completed", "Completed", "Failed"}[rand.IntN(4)]
		_ = s.setBackup(ctx, rand.IntN(backupCount), phase) // the user may have deleted it
	})
	return nil
}
