package harness

import (
	"crypto/sha256"
	_ "embed"
	"encoding/json"
	"fmt"
	"math/rand/v2"
	"strings"
	"sync"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
)

const (
	nodes = 100 // number of node names
	apps  = 40  // number of deployments
)

// podTemplate has what all pods have in common of the fields that the apiserver, the deployment controller and the kubelet
// set, with the times of the first pod.
//
//go:embed testdata/pod.json
var podTemplate []byte

var parsedTemplate = sync.OnceValue(func() *corev1.Pod {
	pod := &corev1.Pod{}
	if err := json.Unmarshal(podTemplate, pod); err != nil {
		panic(err) // never
	}
	return pod
})

// Pods returns n running pods as in a real cluster, about 7.4 KB of JSON each. It is a pure function of its arguments.
func Pods(n int, ns string, seed uint64) []*corev1.Pod {
	pods := make([]*corev1.Pod, n)
	for i := range pods {
		pods[i] = newPod(ns, seed, i)
	}
	return pods
}

func newPod(ns string, seed uint64, i int) *corev1.Pod {
	p, random, number := parsedTemplate().DeepCopy(), rand.New(rand.NewPCG(seed, uint64(i))), i%apps
	app := fmt.Sprintf("checkout-%02d", number)
	hash := fmt.Sprintf("%010x", (seed+1)*0x9e3779b9*uint64(number+1)&0xffffffffff) // of the pod template
	set := app + "-" + hash
	image := func(name string) string { return fmt.Sprintf("ghcr.io/shop/%s:v1.%d.%d", name, number, i%7) }
	later := func(t *metav1.Time) { t.Time = t.Add(time.Duration(i) * time.Second) }

	p.Name, p.GenerateName, p.Namespace = fmt.Sprintf("%s-%05x", set, i), set+"-", ns
	p.ResourceVersion = fmt.Sprint(100_000 + 3*i)
	p.Labels = map[string]string{
		"app.kubernetes.io/name":      app,
		"app.kubernetes.io/component": []string{"api", "worker", "cache"}[i%3],
		"pod-template-hash":           hash,
	}
	p.Annotations = map[string]string{"checksum/config": digest(app)}
	owner := &p.OwnerReferences[0]
	owner.Name, owner.UID = set, uid(rand.New(rand.NewPCG(^seed, uint64(number))))
	later(&p.CreationTimestamp)

	p.Spec.NodeName = fmt.Sprintf("node-%03d", random.IntN(nodes))
	p.UID = uid(random)
	p.Spec.Containers[0].Image, p.Spec.Containers[1].Image = image(app), image("log-shipper")
	p.Spec.Containers[0].Env[1].ValueFrom.SecretKeyRef.Name = app + "-db"

	p.Status.HostIP = fmt.Sprintf("172.18.%d.%d", i%4, random.IntN(250)+1)
	p.Status.HostIPs = []corev1.HostIP{{IP: p.Status.HostIP}}
	p.Status.PodIP = fmt.Sprintf("10.%d.%d.%d", 64+i>>16, i>>8&255, i&255)
	p.Status.PodIPs = []corev1.PodIP{{IP: p.Status.PodIP}}
	later(p.Status.StartTime)
	for i := range p.Status.Conditions {
		later(&p.Status.Conditions[i].LastTransitionTime)
	}
	for i, image := range []string{image("log-shipper"), image(app)} {
		c := &p.Status.ContainerStatuses[i]
		c.Image, c.ImageID = image, "ghcr.io/shop/"+c.Name+"@sha256:"+digest(image)
		c.RestartCount, c.ContainerID = int32(random.IntN(3)), "containerd://"+hex(random, 64)
		later(&c.State.Running.StartedAt)
	}
	for i := range p.ManagedFields {
		later(p.ManagedFields[i].Time)
		fields := p.ManagedFields[i].FieldsV1
		fields.SetRawString(strings.NewReplacer("OWNER", string(owner.UID), "PODIP", p.Status.PodIP).Replace(fields.GetRawString()))
	}
	return p
}

// digest returns the SHA-256 of a text, in hexadecimal.
func digest(text string) string { return fmt.Sprintf("%x", sha256.Sum256([]byte(text))) }

// hex returns n random hexadecimal digits.
func hex(random *rand.Rand, n int) string {
	b := make([]byte, n)
	for i := range b {
		b[i] = "0123456789abcdef"[random.IntN(16)]
	}
	return string(b)
}

func uid(random *rand.Rand) types.UID {
	return types.UID(hex(random, 8) + "-" + hex(random, 4) + "-4" + hex(random, 3) + "-a" + hex(random, 3) + "-" + hex(random, 12))
}
