package priority

import (
	"cmp"
	"context"
	"encoding/json"
	"slices"
	"strconv"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"go.uber.org/zap"
	flowcontrolv1 "k8s.io/api/flowcontrol/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/utils/ptr"

	"sluice/cache"
	"sluice/cache/tree"
	"sluice/codec"
	"sluice/proxy/discovery"
	"sluice/proxy/resources"
)

// cluster is a configuration in stores, as that of an apiserver. Its resources have no store while
// missing is set.
type cluster struct {
	t               testing.TB
	encoding        codec.Encoding
	schemas, levels *cache.Store
	version         uint64
	missing         atomic.Bool
	looked          atomic.Int64
}

func newCluster(t testing.TB, e codec.Encoding) *cluster {
	c := &cluster{t: t, encoding: e, version: 10}
	b := builtIn()
	c.schemas = c.store(objectsOf(c, b.schemas))
	c.levels = c.store(objectsOf(c, b.levels))
	return c
}

func (c *cluster) store(objects []*tree.Object) *cache.Store {
	slices.SortFunc(objects, func(a, b *tree.Object) int { return cmp.Compare(a.Key, b.Key) })
	return cache.New(cache.Options{}, objects, c.version)
}

func (c *cluster) Lookup(r schema.GroupVersionResource, _ resources.Reader) (*resources.CachedResource, string) {
	c.looked.Add(1)
	d := &discovery.Description{Resource: codec.Resource{Source: c.encoding}}
	switch {
	case c.missing.Load():
		return nil, resources.NotInSync
	case r.Resource == "flowschemas":
		return &resources.CachedResource{Description: d, Store: c.schemas}, ""
	}
	return &resources.CachedResource{Description: d, Store: c.levels}, ""
}

func (c *cluster) Peek(schema.GroupVersionResource) *resources.CachedResource { return nil }

type encodable interface {
	metav1.Object
	Marshal() ([]byte, error)
}

func objectsOf[T encodable](c *cluster, list []T) []*tree.Object {
	var all []*tree.Object
	for _, o := range list {
		all = append(all, c.object(o))
	}
	return all
}

func (c *cluster) object(o encodable) *tree.Object {
	data, err := o.Marshal()
	if c.encoding == codec.JSON {
		data, err = json.Marshal(o)
	}
	if err != nil {
		c.t.Fatal(err)
	}
	return &tree.Object{Key: tree.KeyOf("", o.GetName()), RV: c.version, Data: data}
}

// apply is one event of the apiserver's watch of a resource.
func (c *cluster) apply(s *cache.Store, event cache.Type, o encodable) {
	c.t.Helper()
	c.version++
	o.SetResourceVersion(strconv.FormatUint(c.version, 10))
	if err := s.Apply(event, c.object(o), time.Now()); err != nil {
		c.t.Fatal(err)
	}
	synctest.Wait()
}

// newLevel returns a level with queues, and a schema that gives it the requests of a user.
func newLevel(name, user string) (*flowcontrolv1.PriorityLevelConfiguration, *flowcontrolv1.FlowSchema) {
	level := &flowcontrolv1.PriorityLevelConfiguration{
		ObjectMeta: metav1.ObjectMeta{Name: name},
		Spec: flowcontrolv1.PriorityLevelConfigurationSpec{
			Type: flowcontrolv1.PriorityLevelEnablementLimited,
			Limited: &flowcontrolv1.LimitedPriorityLevelConfiguration{
				NominalConcurrencyShares: ptr.To[int32](30),
				LimitResponse: flowcontrolv1.LimitResponse{
					Type:    flowcontrolv1.LimitResponseTypeQueue,
					Queuing: &flowcontrolv1.QueuingConfiguration{Queues: 8, HandSize: 2, QueueLengthLimit: 10},
				},
			},
		},
	}
	return level, &flowcontrolv1.FlowSchema{
		ObjectMeta: metav1.ObjectMeta{Name: name},
		Spec: flowcontrolv1.FlowSchemaSpec{
			PriorityLevelConfiguration: flowcontrolv1.PriorityLevelConfigurationReference{Name: name},
			MatchingPrecedence:         500,
			DistinguisherMethod:        &flowcontrolv1.FlowDistinguisherMethod{Type: flowcontrolv1.FlowDistinguisherMethodByUserType},
			Rules: []flowcontrolv1.PolicyRulesWithSubjects{{
				Subjects: []flowcontrolv1.Subject{{Kind: flowcontrolv1.SubjectKindUser, User: &flowcontrolv1.UserSubject{Name: user}}},
				ResourceRules: []flowcontrolv1.ResourcePolicyRule{{
					Verbs: []string{"*"}, APIGroups: []string{"*"}, Resources: []string{"*"}, Namespaces: []string{"*"}, ClusterScope: true,
				}},
			}},
		},
	}
}

// levelOf returns the level of the requests of a user.
func levelOf(t testing.TB, l *Levels, user string) string {
	t.Helper()
	s, err := l.take(t.Context(), ask(t, user, createPod))
	if err != nil {
		t.Fatal(err)
	}
	s.leave()
	return s.level
}

func TestLevelsFollowTheCluster(t *testing.T) {
	for _, encoding := range []codec.Encoding{codec.JSON, codec.Protobuf} {
		synctest.Test(t, func(t *testing.T) {
			c := newCluster(t, encoding)
			l := start(t, Options{Seats: 600, Resources: c})
			is := func(want string) {
				t.Helper()
				if got := levelOf(t, l, "user"); got != want {
					t.Errorf("encoding %d: level %s, want %s", encoding, got, want)
				}
			}
			level, flow := newLevel("ours", "user")
			is("global-default")
			c.apply(c.schemas, cache.Added, flow) // the level does not exist yet
			is("global-default")
			c.apply(c.levels, cache.Added, level)
			is("ours")
			l.Set(300, time.Minute)
			time.Sleep(time.Second)
			is("ours")
			c.apply(c.schemas, cache.Deleted, flow)
			is("global-default")
		})
	}
}

func TestLastConfigurationStaysWithoutStores(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c := newCluster(t, codec.Protobuf)
		c.missing.Store(true)
		l := start(t, Options{Seats: 600, Resources: c})
		level, flow := newLevel("ours", "user")
		c.apply(c.schemas, cache.Added, flow)
		c.apply(c.levels, cache.Added, level)
		if got := levelOf(t, l, "user"); got != "global-default" {
			t.Errorf("level %s while the configuration is not known", got)
		}
		c.missing.Store(false)
		time.Sleep(maxRetry)
		if got := levelOf(t, l, "user"); got != "ours" {
			t.Errorf("level %s when it is known", got)
		}
		c.missing.Store(true)
		c.schemas.Close()
		looked := c.looked.Load()
		time.Sleep(time.Hour)
		if got := levelOf(t, l, "user"); got != "ours" {
			t.Errorf("level %s when it is no longer known", got)
		}
		if n := c.looked.Load() - looked; n > 200 {
			t.Errorf("the missing stores were looked up %d times in an hour", n)
		}
	})
}

// A later apiserver may have objects that the library would not survive.
func TestUnusableObjectsAreLeftOut(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c := newCluster(t, codec.Protobuf)
		l := start(t, Options{Seats: 600, Resources: c})
		for name, spoil := range map[string]func(*flowcontrolv1.PriorityLevelConfiguration, *flowcontrolv1.FlowSchema){
			"distinguisher": func(_ *flowcontrolv1.PriorityLevelConfiguration, s *flowcontrolv1.FlowSchema) {
				s.Spec.DistinguisherMethod.Type = "ByMoon"
			},
			"no-shares": func(l *flowcontrolv1.PriorityLevelConfiguration, _ *flowcontrolv1.FlowSchema) {
				l.Spec.Limited.NominalConcurrencyShares = nil
			},
			"no-hand": func(l *flowcontrolv1.PriorityLevelConfiguration, _ *flowcontrolv1.FlowSchema) {
				l.Spec.Limited.LimitResponse.Queuing = &flowcontrolv1.QueuingConfiguration{}
			},
			"no-kind": func(l *flowcontrolv1.PriorityLevelConfiguration, _ *flowcontrolv1.FlowSchema) {
				l.Spec = flowcontrolv1.PriorityLevelConfigurationSpec{Type: "Rationed"}
			},
		} {
			level, flow := newLevel(name, name)
			spoil(level, flow)
			c.apply(c.levels, cache.Added, level)
			c.apply(c.schemas, cache.Added, flow)
			if got := levelOf(t, l, name); got != "global-default" {
				t.Errorf("%s: level %s", name, got)
			}
		}
	})
}

// An apiserver always has the mandatory objects.
func TestEmptyConfigurationIsNone(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c := newCluster(t, codec.JSON)
		c.schemas = c.store(nil)
		l := start(t, Options{Seats: 600, Resources: c})
		if got := levelOf(t, l, "user"); got != "global-default" {
			t.Errorf("level %s", got)
		}
	})
}

func TestConfigurationIsAppliedWhenItChanges(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c := newCluster(t, codec.JSON)
		applied := 0
		ctx, cancel := context.WithCancel(t.Context())
		defer cancel()
		go follow(ctx, c, func(configuration) { applied++ }, zap.NewNop())
		synctest.Wait()
		for version := range uint64(5) { // bookmarks change nothing
			if err := c.schemas.ApplyBookmark(100 + version); err != nil {
				t.Fatal(err)
			}
			synctest.Wait()
		}
		if applied != 1 {
			t.Errorf("applied %d times", applied)
		}
		c.version = 200
		_, flow := newLevel("ours", "user")
		if c.apply(c.schemas, cache.Added, flow); applied != 2 {
			t.Errorf("applied %d times after a change", applied)
		}
	})
}

func TestUseOfStoresIsRenewed(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c := newCluster(t, codec.JSON)
		start(t, Options{Seats: 600, Resources: c})
		before := c.looked.Load()
		time.Sleep(10 * useEvery)
		if n := c.looked.Load() - before; n < 18 {
			t.Errorf("%d look-ups of two stores in ten minutes", n)
		}
	})
}
