package main

import (
	"context"
	_ "embed" // the CRD of backups
	"encoding/json"
	"fmt"
	"math/rand/v2"
	"net/http"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/yaml"

	"sluice/test/harness"
)

const (
	backups    = 50
	configMaps = 20 // in each namespace
	// changeInterval is the time between two changes in the whole cluster.
	changeInterval = 300 * time.Millisecond
)

// namespaces hold the samples.
var namespaces = []string{"shop", "payments", "search", "platform"}

//go:embed backups_crd.yaml
var backupDefinition []byte

// samplePods returns n running pods, in all namespaces.
func samplePods(n int) (pods []*corev1.Pod) {
	for i, ns := range namespaces {
		pods = append(pods, harness.Pods((n+i)/len(namespaces), ns, uint64(i+1))...)
	}
	return pods
}

// fill creates the samples.
func (d *demo) fill(ctx context.Context) error {
	for _, ns := range namespaces {
		if err := d.plane.Create(ctx, "/api/v1/namespaces", fmt.Sprintf(`{"metadata":{"name":%q,"labels":{"team":%[1]q}}}`, ns)); err != nil {
			return err
		}
		for i := range configMaps {
			object := fmt.Sprintf(`{"metadata":{"name":"checkout-%02d"},"data":{"application.yaml":"listen: :8080\nlog: {level: info, format: json}\n"}}`, i)
			if err := d.plane.Create(ctx, "/api/v1/namespaces/"+ns+"/configmaps", object); err != nil {
				return err
			}
		}
	}
	if err := d.plane.CreatePods(ctx, d.pods); err != nil {
		return err
	}
	definition, err := yaml.YAMLToJSON(backupDefinition)
	if err != nil {
		return err
	}
	if err := d.plane.Create(ctx, "/apis/apiextensions.k8s.io/v1/customresourcedefinitions", string(definition)); err != nil {
		return err
	}
	for i := range backups {
		object := fmt.Sprintf(`{"apiVersion":"storage.example.com/v1","kind":"Backup","metadata":{"name":%q},
			"spec":{"schedule":"%d %d * * *","source":{"volumeClaim":"data-postgres-%[2]d"}}}`, backupName(i), i, i%24)
		if err := d.plane.Create(ctx, backupsPath(i), object); err != nil {
			return err
		}
		if err := d.endBackup(ctx, i, "Completed"); err != nil {
			return err
		}
	}
	return nil
}

func backupName(i int) string { return fmt.Sprintf("nightly-%02d", i) }

func backupsPath(i int) string {
	return "/apis/storage.example.com/v1/namespaces/" + namespaces[i%len(namespaces)] + "/backups"
}

// changeSamples restarts a container of a random pod, or ends a random backup, at each interval until the context
// ends. A change that fails is left out: the user may have deleted the object.
func (d *demo) changeSamples(ctx context.Context) {
	for pause(ctx, changeInterval) {
		if rand.IntN(4) > 0 {
			_ = d.restart(ctx, d.pods[rand.IntN(len(d.pods))])
		} else {
			_ = d.endBackup(ctx, rand.IntN(backups), []string{"Completed", "Completed", "Failed"}[rand.IntN(3)])
		}
	}
}

// restart writes the status of a pod of which a container crashed and restarted at once.
func (d *demo) restart(ctx context.Context, p *corev1.Pod) error {
	now, c := metav1.Now(), &p.Status.ContainerStatuses[0]
	c.LastTerminationState.Terminated = &corev1.ContainerStateTerminated{ExitCode: 1, Reason: "Error", StartedAt: c.State.Running.StartedAt, FinishedAt: now}
	c.State.Running.StartedAt = now
	c.RestartCount++
	status, err := json.Marshal(map[string]any{"status": map[string]any{"containerStatuses": p.Status.ContainerStatuses}})
	if err != nil {
		return err
	}
	return d.patchStatus(ctx, "/api/v1/namespaces/"+p.Namespace+"/pods/"+p.Name, string(status))
}

// endBackup writes the status of a backup that has ended.
func (d *demo) endBackup(ctx context.Context, i int, phase string) error {
	return d.patchStatus(ctx, backupsPath(i)+"/"+backupName(i), fmt.Sprintf(`{"status":{"phase":%q,"lastRun":%q,"size":"%dGi"}}`,
		phase, time.Now().UTC().Format(time.RFC3339), rand.IntN(400)+1))
}

func (d *demo) patchStatus(ctx context.Context, path, status string) error {
	_, err := d.plane.Raw("admin").Write(ctx, http.MethodPatch, path+"/status", status)
	return err
}
