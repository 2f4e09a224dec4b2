package priority

import (
	"encoding/json"
	"errors"
	"fmt"

	flowcontrolv1 "k8s.io/api/flowcontrol/v1"
	"k8s.io/apiserver/pkg/apis/flowcontrol/bootstrap"

	"sluice/cache/tree"
	"sluice/codec"
	"sluice/proxy/resources"
)

// configuration says which requests belong to which priority level, and what each level gets.
type configuration struct {
	schemas []*flowcontrolv1.FlowSchema
	levels  []*flowcontrolv1.PriorityLevelConfiguration
}

// builtIn is the configuration that every apiserver creates.
func builtIn() configuration {
	return configuration{
		schemas: append(append([]*flowcontrolv1.FlowSchema(nil), bootstrap.MandatoryFlowSchemas...), bootstrap.SuggestedFlowSchemas...),
		levels: append(append([]*flowcontrolv1.PriorityLevelConfiguration(nil), bootstrap.MandatoryPriorityLevelConfigurations...),
			bootstrap.SuggestedPriorityLevelConfigurations...),
	}
}

// read returns the configuration of the cluster. The apiserver keeps the mandatory objects alive: a state
// without schemas, or without levels, is none.
func read(schemas, levels *resources.CachedResource) (c configuration, err error) {
	if c.schemas, err = decode(schemas, usableSchema); err != nil {
		return c, err
	}
	if c.levels, err = decode(levels, usableLevel); err != nil {
		return c, err
	}
	if len(c.schemas) == 0 || len(c.levels) == 0 {
		return c, errors.New("there are none")
	}
	return c, nil
}

// unmarshaler is an object that Protobuf encodes.
type unmarshaler[T any] interface {
	*T
	Unmarshal([]byte) error
}

// decode returns the objects of a resource that are usable.
func decode[T any, P unmarshaler[T]](c *resources.CachedResource, usable func(P) bool) ([]P, error) {
	var all []P
	for o := range c.Store.Snapshot().Objects(tree.Range{}) {
		p := P(new(T))
		var err error
		if c.Resource.Source == codec.Protobuf {
			err = p.Unmarshal(o.Data)
		} else {
			err = json.Unmarshal(o.Data, p)
		}
		if err != nil {
			return nil, fmt.Errorf("%s: %w", o.Key.Name(), err)
		}
		if usable(p) {
			all = append(all, p)
		}
	}
	return all, nil
}

// usableSchema reports whether the library knows how a schema tells flows apart. For any other way, which
// only a later apiserver can have, it would panic.
func usableSchema(s *flowcontrolv1.FlowSchema) bool {
	method := s.Spec.DistinguisherMethod
	return method == nil || method.Type == flowcontrolv1.FlowDistinguisherMethodByUserType ||
		method.Type == flowcontrolv1.FlowDistinguisherMethodByNamespaceType
}

// usableLevel reports whether a level has what the library takes for granted.
func usableLevel(l *flowcontrolv1.PriorityLevelConfiguration) bool {
	if l.Spec.Limited == nil {
		return l.Spec.Exempt != nil
	}
	queuing := l.Spec.Limited.LimitResponse.Queuing
	return l.Spec.Limited.NominalConcurrencyShares != nil && (queuing == nil || min(queuing.Queues, queuing.HandSize) > 0)
}
