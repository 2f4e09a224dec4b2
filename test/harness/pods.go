package harness

import (
	"crypto/sha256"
	"fmt"
	"math/rand/v2"
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/util/intstr"
	"k8s.io/utils/ptr"
)

const (
	nodes = 100 // number of node names
	apps  = 40  // number of deployments
)

// epoch is the creation time of the first sample, constant so that runs are equal.
var epoch = metav1.NewTime(time.Date(2026, 3, 1, 8, 0, 0, 0, time.UTC))

// Pods returns n running pods as in a real cluster, about 7.4 KB of JSON each, with all fields that
// the apiserver, the deployment controller and the kubelet set. It is a pure function of its
// arguments.
func Pods(n int, ns string, seed uint64) []*corev1.Pod {
	pods := make([]*corev1.Pod, n)
	for i := range pods {
		pods[i] = newSample(ns, seed, i).pod()
	}
	return pods
}

// sample holds what differs between pods.
type sample struct {
	*rand.Rand
	number  int
	ns      string
	app     string
	hash    string // of the pod template
	name    string
	node    string
	owner   types.UID // of the replica set
	created metav1.Time
}

func newSample(ns string, seed uint64, i int) *sample {
	s := &sample{Rand: rand.New(rand.NewPCG(seed, uint64(i))), number: i, ns: ns}
	app := i % apps
	s.app = fmt.Sprintf("checkout-%02d", app)
	s.hash = fmt.Sprintf("%010x", (seed+1)*0x9e3779b9*uint64(app+1)&0xffffffffff)
	s.name = fmt.Sprintf("%s-%s-%05x", s.app, s.hash, i)
	s.node = fmt.Sprintf("node-%03d", s.IntN(nodes))
	s.owner = (&sample{Rand: rand.New(rand.NewPCG(^seed, uint64(app)))}).uid()
	s.created = metav1.NewTime(epoch.Add(time.Duration(i) * time.Second))
	return s
}

// hex returns n random hexadecimal digits.
func (s *sample) hex(n int) string {
	b := make([]byte, n)
	for i := range b {
		b[i] = "0123456789abcdef"[s.IntN(16)]
	}
	return string(b)
}

// digest returns the SHA-256 of a text, in hexadecimal.
func digest(text string) string { return fmt.Sprintf("%x", sha256.Sum256([]byte(text))) }

func (s *sample) uid() types.UID {
	return types.UID(s.hex(8) + "-" + s.hex(4) + "-4" + s.hex(3) + "-a" + s.hex(3) + "-" + s.hex(12))
}

// after returns the time some seconds after the creation.
func (s *sample) after(seconds int) metav1.Time {
	return metav1.NewTime(s.created.Add(time.Duration(seconds) * time.Second))
}

func (s *sample) image(name string) string {
	return fmt.Sprintf("ghcr.io/shop/%s:v1.%d.%d", name, s.number%apps, s.number%7)
}

func (s *sample) pod() *corev1.Pod {
	p := &corev1.Pod{
		TypeMeta:   metav1.TypeMeta{APIVersion: "v1", Kind: "Pod"},
		ObjectMeta: s.meta(),
		Spec:       s.spec(),
		Status:     s.status(),
	}
	p.ManagedFields = s.managed(p)
	return p
}

func (s *sample) meta() metav1.ObjectMeta {
	return metav1.ObjectMeta{
		Name:              s.name,
		GenerateName:      s.app + "-" + s.hash + "-",
		Namespace:         s.ns,
		UID:               s.uid(),
		ResourceVersion:   fmt.Sprint(100_000 + 3*s.number),
		Generation:        1,
		CreationTimestamp: s.created,
		Labels: map[string]string{
			"app.kubernetes.io/name":      s.app,
			"app.kubernetes.io/component": []string{"api", "worker", "cache"}[s.number%3],
			"pod-template-hash":           s.hash,
		},
		Annotations: map[string]string{
			"checksum/config": digest(s.app),
		},
		OwnerReferences: []metav1.OwnerReference{{
			APIVersion: "apps/v1", Kind: "ReplicaSet", Name: s.app + "-" + s.hash, UID: s.owner,
			Controller: ptr.To(true), BlockOwnerDeletion: ptr.To(true),
		}},
	}
}

func (s *sample) spec() corev1.PodSpec {
	return corev1.PodSpec{
		Volumes:                       []corev1.Volume{apiAccess()},
		Containers:                    []corev1.Container{s.server(), s.logShipper()},
		RestartPolicy:                 corev1.RestartPolicyAlways,
		TerminationGracePeriodSeconds: ptr.To[int64](30),
		DNSPolicy:                     corev1.DNSClusterFirst,
		ServiceAccountName:            "default",
		DeprecatedServiceAccount:      "default",
		NodeName:                      s.node,
		SecurityContext:               &corev1.PodSecurityContext{},
		SchedulerName:                 corev1.DefaultSchedulerName,
		Tolerations: []corev1.Toleration{
			notReady(corev1.TaintNodeNotReady), notReady(corev1.TaintNodeUnreachable),
		},
		Priority:           ptr.To[int32](0),
		EnableServiceLinks: ptr.To(true),
		PreemptionPolicy:   ptr.To(corev1.PreemptLowerPriority),
	}
}

func notReady(taint string) corev1.Toleration {
	return corev1.Toleration{
		Key: taint, Operator: corev1.TolerationOpExists, Effect: corev1.TaintEffectNoExecute,
		TolerationSeconds: ptr.To[int64](300),
	}
}

const accessVolume = "kube-api-access-x7k2p"

// apiAccess returns the volume that the ServiceAccount admission plugin adds to every pod.
func apiAccess() corev1.Volume {
	sources := []corev1.VolumeProjection{
		{ServiceAccountToken: &corev1.ServiceAccountTokenProjection{ExpirationSeconds: ptr.To[int64](3607), Path: "token"}},
		{ConfigMap: &corev1.ConfigMapProjection{
			LocalObjectReference: corev1.LocalObjectReference{Name: "kube-root-ca.crt"},
			Items:                []corev1.KeyToPath{{Key: "ca.crt", Path: "ca.crt"}}}},
		{DownwardAPI: &corev1.DownwardAPIProjection{Items: []corev1.DownwardAPIVolumeFile{
			{Path: "namespace", FieldRef: field("metadata.namespace")}}}},
	}
	return corev1.Volume{Name: accessVolume, VolumeSource: corev1.VolumeSource{
		Projected: &corev1.ProjectedVolumeSource{Sources: sources, DefaultMode: ptr.To(corev1.ProjectedVolumeSourceDefaultMode)},
	}}
}

func field(path string) *corev1.ObjectFieldSelector {
	return &corev1.ObjectFieldSelector{APIVersion: "v1", FieldPath: path}
}

var accessMount = corev1.VolumeMount{
	Name: accessVolume, ReadOnly: true, MountPath: "/var/run/secrets/kubernetes.io/serviceaccount",
}

func (s *sample) server() corev1.Container {
	c := container("server", s.image(s.app))
	c.Ports = []corev1.ContainerPort{{Name: "http", ContainerPort: 8080, Protocol: corev1.ProtocolTCP}}
	c.Env = []corev1.EnvVar{
		{Name: "POD_NAME", ValueFrom: &corev1.EnvVarSource{FieldRef: field("metadata.name")}},
		{Name: "DB_PASSWORD", ValueFrom: &corev1.EnvVarSource{SecretKeyRef: &corev1.SecretKeySelector{
			LocalObjectReference: corev1.LocalObjectReference{Name: s.app + "-db"}, Key: "password"}}},
	}
	c.VolumeMounts = []corev1.VolumeMount{accessMount}
	c.ReadinessProbe = probe("/readyz")
	return c
}

func (s *sample) logShipper() corev1.Container {
	c := container("log-shipper", s.image("log-shipper"))
	c.VolumeMounts = []corev1.VolumeMount{accessMount}
	return c
}

// container returns a container with the defaults that the apiserver sets.
func container(name, image string) corev1.Container {
	return corev1.Container{
		Name:  name,
		Image: image,
		Resources: corev1.ResourceRequirements{
			Requests: corev1.ResourceList{"cpu": resource.MustParse("50m"), "memory": resource.MustParse("64Mi")},
		},
		TerminationMessagePath:   corev1.TerminationMessagePathDefault,
		TerminationMessagePolicy: corev1.TerminationMessageReadFile,
		ImagePullPolicy:          corev1.PullIfNotPresent,
	}
}

func probe(path string) *corev1.Probe {
	return &corev1.Probe{
		ProbeHandler: corev1.ProbeHandler{HTTPGet: &corev1.HTTPGetAction{
			Path: path, Port: intstr.FromString("http"), Scheme: corev1.URISchemeHTTP}},
		TimeoutSeconds: 1, PeriodSeconds: 10, SuccessThreshold: 1, FailureThreshold: 3,
	}
}
