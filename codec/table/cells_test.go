package table

import (
	"errors"
	"testing"

	sjson "sluice/codec/json"
)

// A printing is one object and its cells at testNow. test/storage compares many more with the real
// apiserver.
type printing struct {
	name, group, version, kind string

	object, cells string
}

const made = `"creationTimestamp":"2026-11-20T12:00:00Z"`

var printings = []printing{
	{"empty object", "", "v1", "ConfigMap", `{}`, `["",0,"\u003cunknown\u003e"]`},
	{"text and binary data", "", "v1", "ConfigMap", `{"metadata":{"name":"c",` + made + `},"data":{"a":"","b":""},"binaryData":{"c":""}}`, `["c",3,"10m"]`},
	{"default columns", "", "v1", "LimitRange", `{"metadata":{"name":"l",` + made + `}}`, `["l","2026-11-20T12:00:00Z"]`},
	{"default columns of an empty object", "", "v1", "LimitRange", `{}`, `["","0001-01-01T00:00:00Z"]`},
	{"created in the future", "", "v1", "ServiceAccount", `{"metadata":{"name":"s","creationTimestamp":"2027-01-01T00:00:00Z"}}`, `["s","\u003cinvalid\u003e"]`},
	{"text that needs escapes", "", "v1", "Secret", `{"metadata":{"name":"s"},"type":"a\u003cb\"\\\u2028é"}`, `["s","a\u003cb\"\\\u2028é",0,"\u003cunknown\u003e"]`},

	{"integer minus zero", "apps", "v1", "ControllerRevision", `{"metadata":{"name":"s"},"revision":-0}`, `["s","\u003cnone\u003e",0,"\u003cunknown\u003e"]`},

	{"pod without status", "", "v1", "Pod", `{"metadata":{"name":"p",` + made + `},"spec":{"containers":[{},{}]}}`,
		`["p","0/2","","0","10m","\u003cnone\u003e","\u003cnone\u003e","\u003cnone\u003e","\u003cnone\u003e"]`},
	{"pod restarted", "", "v1", "Pod", `{"metadata":{"name":"p",` + made + `},"spec":{"nodeName":"n","containers":[{"name":"a"}],"readinessGates":[{"conditionType":"g"}]},` +
		`"status":{"phase":"Running","podIPs":[{"ip":"10.0.0.1"}],"nominatedNodeName":"m","conditions":[{"type":"g","status":"True"}],` +
		`"containerStatuses":[{"name":"a","ready":true,"restartCount":2,"state":{"running":{}},"lastState":{"terminated":{"finishedAt":"2026-11-20T12:05:00Z"}}}]}}`,
		`["p","1/1","Running","2 (5m ago)","10m","10.0.0.1","n","m","1/1"]`},
	{"pod in its second init container", "", "v1", "Pod", `{"metadata":{"name":"p"},"spec":{"containers":[{}],"initContainers":[{"name":"x"},{"name":"y"}]},"status":{"phase":"Pending",` +
		`"initContainerStatuses":[{"name":"x","restartCount":3,"state":{"terminated":{"exitCode":0}}},{"name":"y","state":{"running":{}}}]}}`,
		`["p","0/1","Init:1/2","3","\u003cunknown\u003e","\u003cnone\u003e","\u003cnone\u003e","\u003cnone\u003e","\u003cnone\u003e"]`},
	{"pod with a sidecar", "", "v1", "Pod", `{"metadata":{"name":"p"},"spec":{"containers":[{}],"initContainers":[{"name":"s","restartPolicy":"Always"},{"name":"y"}]},"status":{"phase":"Running",` +
		`"initContainerStatuses":[{"name":"s","ready":true,"started":true,"restartCount":1,"state":{"running":{}}},{"name":"y","restartCount":4,"state":{"terminated":{"exitCode":0}}}]}}`,
		`["p","1/2","Running","1","\u003cunknown\u003e","\u003cnone\u003e","\u003cnone\u003e","\u003cnone\u003e","\u003cnone\u003e"]`},
	{"pod whose node is lost", "", "v1", "Pod", `{"metadata":{"name":"p","deletionTimestamp":"2026-11-20T12:00:00Z"},"status":{"reason":"NodeLost"}}`,
		`["p","0/0","Unknown","0","\u003cunknown\u003e","\u003cnone\u003e","\u003cnone\u003e","\u003cnone\u003e","\u003cnone\u003e"]`},

	{"labels ordered as pairs", "", "v1", "Service", `{"metadata":{"name":"s"},"spec":{"type":"ExternalName","externalName":"e","selector":{"app":"x","app.kubernetes.io/name":"y"}}}`,
		`["s","ExternalName","\u003cnone\u003e","e","\u003cnone\u003e","\u003cunknown\u003e","app.kubernetes.io/name=y,app=x"]`},
	{"invalid selector", "apps", "v1", "Deployment", `{"metadata":{"name":"d"},"spec":{"selector":{"matchLabels":{"bad key":"x"}}}}`,
		`["d","0/0",0,0,"\u003cunknown\u003e","","","\u003cinvalid\u003e"]`},
	{"event of events.k8s.io", "events.k8s.io", "v1", "Event", `{"metadata":{"name":"e"},"note":" n ","reason":"R","type":"Normal","regarding":{"kind":"POD","name":"p"},` +
		`"eventTime":"2026-11-20T12:00:00.000000Z","reportingController":"c","reportingInstance":"i"}`,
		`["10m","Normal","R","pod/p","","c, i","n","10m",1,"e"]`},
	{"unbound claim", "", "v1", "PersistentVolumeClaim", `{"metadata":{"name":"c"},"spec":{"resources":{"requests":{"storage":"1Gi"}}},"status":{"phase":"Pending"}}`,
		`["c","Pending","","","","","\u003cunset\u003e","\u003cunknown\u003e","\u003cunset\u003e"]`},
	{"address with more cells than columns", "networking.k8s.io", "v1", "IPAddress", `{"metadata":{"name":"10.0.0.1",` + made + `}}`, `["10.0.0.1","\u003cnone\u003e","10m"]`},
	{"replacement character", "", "v1", "Secret", `{"metadata":{"name":"s"},"type":"a�"}`, `["s","a�",0,"\u003cunknown\u003e"]`},
	{"text that is not UTF-8 in no cell", "", "v1", "Secret", `{"metadata":{"name":"s","uid":"\ufffd"},"type":"a"}`, `["s","a",0,"\u003cunknown\u003e"]`},
	{"times that are set but zero", "batch", "v1", "CronJob", `{"metadata":{"name":"c"},"status":{"lastScheduleTime":null}}`,
		`["c","","\u003cnone\u003e","\u003cunset\u003e",0,"\u003cunknown\u003e","\u003cunknown\u003e","","","\u003cnone\u003e"]`},
	{"being deleted since the zero time", "", "v1", "PersistentVolumeClaim", `{"metadata":{"name":"c","deletionTimestamp":null},"status":{"phase":"Bound"}}`,
		`["c","Terminating","","","","","\u003cunset\u003e","\u003cunknown\u003e","\u003cunset\u003e"]`},
	{"definition of a custom resource", "apiextensions.k8s.io", "v1", "CustomResourceDefinition", `{"metadata":{"name":"c",` + made + `},"spec":{"group":"g",` +
		`"names":{"kind":"K","shortNames":["b","a"]},"scope":"Namespaced","versions":[{"name":"v2","served":true,"storage":true},{"name":"v1","served":true},{"name":"v0"}]},` +
		`"status":{"conditions":[{"type":"Established","status":"False"},{"type":"Established","status":"True"}]}}`,
		`["c","Namespaced","v1,v2(storage)","2026-11-20T12:00:00Z","g","K","b,a",true]`},
	{"storage class that is no default", "storage.k8s.io", "v1", "StorageClass", `{"metadata":{"name":"s","annotations":{"storageclass.kubernetes.io/is-default-class":"false"}},"provisioner":"p"}`,
		`["s","p","Delete","Immediate",false,"\u003cunknown\u003e"]`},
	{"pod group that is not scheduled", "scheduling.k8s.io", "v1beta1", "PodGroup", `{"metadata":{"name":"g",` + made + `},"spec":{"workloadRef":{"workloadName":"w"},` +
		`"schedulingPolicy":{"gang":{}}},"status":{"conditions":[{"type":"PodGroupInitiallyScheduled","status":"False"}]}}`,
		`["g","Gang","w","Unschedulable","10m"]`},
	{"eviction that has failed", "lifecycle.k8s.io", "v1alpha1", "EvictionRequest", `{"metadata":{"name":"e",` + made + `},"spec":{"target":{"pod":{"name":"p"}},"requester":"r","intent":"Eviction"},` +
		`"status":{"observedGeneration":1,"conditions":[{"type":"TargetEvicted","status":"False"},{"type":"Failed","status":"True","reason":"R"}]}}`,
		`["e","p","Pod","Failed (R)","r","Eviction","10m"]`},
	{"autoscaler without metrics", "autoscaling", "v2", "HorizontalPodAutoscaler", `{"metadata":{"name":"h"},"spec":{"scaleTargetRef":{"kind":"K","name":"n"},"minReplicas":1,"maxReplicas":3}}`,
		`["h","K/n","\u003cnone\u003e","1",3,0,"\u003cunknown\u003e"]`},
}

func TestCellsEqualTheApiservers(t *testing.T) {
	for _, p := range printings {
		t.Run(p.kind+" "+p.name, func(t *testing.T) {
			c := newest(p.group, p.version, p.kind)
			got, err := c.AppendCells(nil, sjson.Value(p.object), testNow)
			if err != nil || string(got) != p.cells {
				t.Errorf("got %s, %v\nwant %s", got, err, p.cells)
			}
		})
	}
}

// Which of the default storage classes is marked depends on the release and on the rest of the response.
func TestCellsOfDefaultStorageClassesAreErrors(t *testing.T) {
	c := newest("storage.k8s.io", "v1", "StorageClass")
	for _, annotation := range []string{"storageclass.kubernetes.io/is-default-class", "storageclass.beta.kubernetes.io/is-default-class"} {
		src := sjson.Value(`{"metadata":{"name":"s","annotations":{"` + annotation + `":"true"}}}`)
		if got, err := c.AppendCells(nil, src, testNow); !errors.Is(err, ErrUndetermined) {
			t.Errorf("%s: got %s, %v", annotation, got, err)
		}
	}
}

func TestCellsOfTextThatIsNotUTF8AreErrors(t *testing.T) {
	c := newest("", "v1", "Secret")
	for _, src := range []string{`{"type":"a\ufffd"}`, `{"metadata":{"name":"�"},"type":"\ufffd"}`} {
		if got, err := c.AppendCells([]byte("kept"), sjson.Value(src), testNow); !errors.Is(err, ErrUndetermined) || string(got) != "kept" {
			t.Errorf("%s: got %s, %v", src, got, err)
		}
	}
}
