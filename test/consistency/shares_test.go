package consistency

import "testing"

// Resources as they are used here.
const (
	busyBuiltin = iota // ConfigMaps: few, changed all the time
	busyCustom         // beats: few, changed often
	largeQuiet         // stills: a thousand, changed now and then
	smallQuiet         // ServiceAccounts: few, changed now and then
)

// leastCached is the share of answers that Sluice must give out of its cache,
// by kind of read and resource, over a whole run with all its faults.
var leastCached = map[string][4]float64{
	//                          ConfigMaps, beats, stills, ServiceAccounts
	"whole":                     {0, 0, 0, 0},
	"namespace":                 {0, 0, 0, 0},
	"label":                     {0, 0, 0, 0},
	"name":                      {0, 0, 0, 0},
	"field":                     {0, 0, 0, 0},
	"paged":                     {0, 0, 0, 0},
	"paged, selected":           {0, 0, 0, 0},
	"paged, two servers":        {0, 0, 0, 0},
	"paged, exact":              {0, 0, 0, 0},
	"paged, exact, two servers": {0, 0, 0, 0},
	"paged, at a version":       {0.25, 0, 0, 0},
	"any":                       {0.25, 0, 0, 0},
	"any, selected":             {0, 0, 0, 0},
	"not older":                 {0, 0, 0, 0},
	"not older, namespace":      {0, 0, 0, 0},
	"exact":                     {0, 0, 0, 0},
	"exact, selected":           {0, 0, 0, 0},
	"stream":                    {0.25, 0, 0, 0},
	"stream, namespace":         {0, 0, 0, 0},
	"stream, selected":          {0, 0, 0, 0},
	"stream, any":               {0, 0, 0, 0},
	"stream, not older":         {0, 0, 0, 0},
	"get":                       {0, 0, 0, 0},
	"get, any":                  {0, 0, 0, 0},
	"get, not older":            {0, 0, 0, 0},
	watchKind:                   {0, 0, 0, 0},
	watchListKind:               {0, 0, 0, 0},
	watchStreamKind:             {0, 0, 0, 0},
}

// leastAnswers is how many reads of each resource a run must answer to have
// shown anything, per second.
const leastAnswers = 1

func TestEveryKindHasAShare(t *testing.T) {
	for _, k := range kinds {
		if _, ok := leastCached[k.name]; !ok {
			t.Errorf("%s has none", k.name)
		}
	}
}
