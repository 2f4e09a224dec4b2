package harness

import (
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
	nodes = 100 // pods are spread over so many node names
	apps  = 40  // and belong to so many deployments
)

// epoch is when the first sample was created; the present would make runs differ.
var epoch = metav1.NewTime(time.Date(2026, 3, 1, 8, 0, 0, 0, time.UTC))

// Pods makes n running pods as a cluster would hold them, about 7.4 KB of JSON each, with
// everything that the apiserver, the deployment controller and the kubelet fill in. The same n,
// namespace and seed give the same pods.
func Pods(n int, ns string, seed uint64) []*corev1.Pod {
	pods := make([]*corev1.Pod, n)
	for i := range pods {
		pods[i] = newSample(ns, seed, i).pod()
	}
	return pods
}

// sample is what differs from one pod to the next.
type sample struct {
	*rand.Rand
	number  int
	ns      string
	app     string
	hash    string // of the pod template
	name    string
	node    string
	created metav1.Time
}

func newSample(ns string, seed uint64, i int) *sample {
	s := &sample{Rand: rand.New(rand.NewPCG(seed, uint64(i))), number: i, ns: ns}
	app := i % apps
	s.app = fmt.Sprintf("checkout-%02d", app)
	s.hash = fmt.Sprintf("%010x", (seed+1)*0x9e3779b9*uint64(app+1)&0xffffffffff)
	s.name = fmt.Sprintf("%s-%s-%05x", s.app, s.hash, i)
	s.node = fmt.Sprintf("node-%03d.eu-central.example.com", s.IntN(nodes))
	s.created = metav1.NewTime(epoch.Add(time.Duration(i) * time.Second))
	return s
}

// hex gives n hexadecimal digits.
func (s *sample) hex(n int) string {
	b := make([]byte, n)
	for i := range b {
		b[i] = "0123456789abcdef"[s.IntN(16)]
	}
	return string(b)
}

func (s *sample) uid() types.UID {
	return types.UID(s.hex(8) + "-" + s.hex(4) + "-4" + s.hex(3) + "-a" + s.hex(3) + "-" + s.hex(12))
}

// after is a moment so many seconds after the creation.
func (s *sample) after(seconds int) metav1.Time {
	return metav1.NewTime(s.created.Add(time.Duration(seconds) * time.Second))
}

func (s *sample) image(name string) string {
	return fmt.Sprintf("registry.example.com/platform/%s:v1.%d.%d", name, s.number%apps, s.number%7)
}

func (s *sample) pod() *corev1.Pod {
	p := &corev1.Pod{
		TypeMeta:   metav1.TypeMeta{APIVersion: "v1", Kind: "Pod"},
		ObjectMeta: s.meta(),
		Spec:       s.spec(),
		Status:     s.status(),
	}
	p.ManagedFields = []metav1.ManagedFieldsEntry{
		managed("kube-controller-manager", "", s.created, ownedByController(p)),
		managed("kubelet", "status", s.after(9), ownedByKubelet(p)),
	}
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
			"app.kubernetes.io/part-of":   "shop",
			"app.kubernetes.io/component": []string{"api", "worker", "cache"}[s.number%3],
			"app.kubernetes.io/version":   fmt.Sprintf("1.%d.%d", s.number%apps, s.number%7),
			"pod-template-hash":           s.hash,
			"tier":                        []string{"frontend", "backend"}[s.number%2],
		},
		Annotations: map[string]string{
			"checksum/config":                   s.hex(64),
			"kubectl.kubernetes.io/restartedAt": s.created.UTC().Format(time.RFC3339),
			"prometheus.io/port":                "9090",
			"prometheus.io/scrape":              "true",
		},
		OwnerReferences: []metav1.OwnerReference{{
			APIVersion: "apps/v1", Kind: "ReplicaSet", Name: s.app + "-" + s.hash, UID: s.uid(),
			Controller: ptr.To(true), BlockOwnerDeletion: ptr.To(true),
		}},
	}
}

func (s *sample) spec() corev1.PodSpec {
	return corev1.PodSpec{
		Volumes:                       s.volumes(),
		InitContainers:                []corev1.Container{s.initContainer()},
		Containers:                    []corev1.Container{s.mainContainer(), s.sidecar()},
		RestartPolicy:                 corev1.RestartPolicyAlways,
		TerminationGracePeriodSeconds: ptr.To[int64](30),
		DNSPolicy:                     corev1.DNSClusterFirst,
		ServiceAccountName:            "default",
		DeprecatedServiceAccount:      "default",
		NodeName:                      s.node,
		SecurityContext:               &corev1.PodSecurityContext{RunAsNonRoot: ptr.To(true), FSGroup: ptr.To[int64](65532)},
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

func (s *sample) volumes() []corev1.Volume {
	mode := ptr.To(corev1.ConfigMapVolumeSourceDefaultMode)
	return []corev1.Volume{
		{Name: "config", VolumeSource: corev1.VolumeSource{ConfigMap: &corev1.ConfigMapVolumeSource{
			LocalObjectReference: corev1.LocalObjectReference{Name: s.app + "-config"}, DefaultMode: mode}}},
		{Name: "scratch", VolumeSource: corev1.VolumeSource{EmptyDir: &corev1.EmptyDirVolumeSource{}}},
		{Name: accessVolume, VolumeSource: corev1.VolumeSource{Projected: apiAccess(mode)}},
	}
}

const accessVolume = "kube-api-access-x7k2p"

// apiAccess is the volume that the ServiceAccount admission plugin adds to every pod.
func apiAccess(mode *int32) *corev1.ProjectedVolumeSource {
	return &corev1.ProjectedVolumeSource{DefaultMode: mode, Sources: []corev1.VolumeProjection{
		{ServiceAccountToken: &corev1.ServiceAccountTokenProjection{ExpirationSeconds: ptr.To[int64](3607), Path: "token"}},
		{ConfigMap: &corev1.ConfigMapProjection{
			LocalObjectReference: corev1.LocalObjectReference{Name: "kube-root-ca.crt"},
			Items:                []corev1.KeyToPath{{Key: "ca.crt", Path: "ca.crt"}}}},
		{DownwardAPI: &corev1.DownwardAPIProjection{Items: []corev1.DownwardAPIVolumeFile{
			{Path: "namespace", FieldRef: field("metadata.namespace")}}}},
	}}
}

func field(path string) *corev1.ObjectFieldSelector {
	return &corev1.ObjectFieldSelector{APIVersion: "v1", FieldPath: path}
}

var accessMount = corev1.VolumeMount{
	Name: accessVolume, ReadOnly: true, MountPath: "/var/run/secrets/kubernetes.io/serviceaccount",
}

func (s *sample) initContainer() corev1.Container {
	c := container("migrate", s.image("migrate"), "50m", "32Mi")
	c.Args = []string{"up", "--wait=30s"}
	c.VolumeMounts = []corev1.VolumeMount{accessMount}
	return c
}

func (s *sample) mainContainer() corev1.Container {
	c := container("server", s.image(s.app), "250m", "256Mi")
	c.Args = []string{"serve", "--config=/etc/app/config.yaml", "--log-level=info"}
	c.Ports = []corev1.ContainerPort{
		{Name: "http", ContainerPort: 8080, Protocol: corev1.ProtocolTCP},
		{Name: "metrics", ContainerPort: 9090, Protocol: corev1.ProtocolTCP},
	}
	c.Env = []corev1.EnvVar{
		{Name: "POD_NAME", ValueFrom: &corev1.EnvVarSource{FieldRef: field("metadata.name")}},
		{Name: "POD_IP", ValueFrom: &corev1.EnvVarSource{FieldRef: field("status.podIP")}},
		{Name: "DB_PASSWORD", ValueFrom: &corev1.EnvVarSource{SecretKeyRef: &corev1.SecretKeySelector{
			LocalObjectReference: corev1.LocalObjectReference{Name: s.app + "-db"}, Key: "password"}}},
		{Name: "DB_HOST", Value: "postgres." + s.ns + ".svc.cluster.local"},
		{Name: "RELEASE", Value: s.hash},
	}
	c.VolumeMounts = []corev1.VolumeMount{
		{Name: "config", ReadOnly: true, MountPath: "/etc/app"},
		{Name: "scratch", MountPath: "/tmp"},
		accessMount,
	}
	c.LivenessProbe = probe("/healthz")
	c.ReadinessProbe = probe("/readyz")
	c.SecurityContext = &corev1.SecurityContext{
		AllowPrivilegeEscalation: ptr.To(false), ReadOnlyRootFilesystem: ptr.To(true),
		Capabilities: &corev1.Capabilities{Drop: []corev1.Capability{"ALL"}},
	}
	return c
}

func (s *sample) sidecar() corev1.Container {
	c := container("log-shipper", s.image("log-shipper"), "20m", "64Mi")
	c.Env = []corev1.EnvVar{{Name: "NODE", ValueFrom: &corev1.EnvVarSource{FieldRef: field("spec.nodeName")}}}
	c.VolumeMounts = []corev1.VolumeMount{{Name: "scratch", MountPath: "/var/log/app"}, accessMount}
	return c
}

// container is one with the defaults that the apiserver sets.
func container(name, image, cpu, memory string) corev1.Container {
	return corev1.Container{
		Name:  name,
		Image: image,
		Resources: corev1.ResourceRequirements{
			Requests: corev1.ResourceList{"cpu": resource.MustParse(cpu), "memory": resource.MustParse(memory)},
			Limits:   corev1.ResourceList{"memory": resource.MustParse(memory)},
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
