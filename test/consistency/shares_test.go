package consistency

import "testing"

// The loads, by index.
const (
	busyBuiltin = iota // ConfigMaps: few, always changing
	busyCustom         // beats: few, often changing
	largeQuiet         // stills: a thousand, rarely changing
	smallQuiet         // ServiceAccounts: few, rarely changing
	uncached           // reports: few, rarely changing, without watch cache at the apiserver
)

// minCachedShare is the least share of answers that Sluice must serve from its cache, by kind of
// read and load, over a whole run with all faults.
var minCachedShare = map[string][5]float64{
	//                          ConfigMaps, beats, stills, ServiceAccounts, reports
	"whole":                     {0, 0, 0, 0, 0},
	"namespace":                 {0, 0, 0, 0, 0},
	"label":                     {0, 0, 0, 0, 0},
	"name":                      {0, 0, 0, 0, 0},
	"field":                     {0, 0, 0, 0, 0},
	"paged":                     {0, 0, 0, 0, 0},
	"paged, selected":           {0, 0, 0, 0, 0},
	"paged, two servers":        {0, 0, 0, 0, 0},
	"paged, exact":              {0, 0, 0, 0, 0},
	"paged, exact, two servers": {0, 0, 0, 0, 0},
	"paged, at a version":       {0.25, 0, 0, 0, 0},
	"any":                       {0.25, 0, 0, 0, 0},
	"any, selected":             {0, 0, 0, 0, 0},
	"not older":                 {0, 0, 0, 0, 0},
	"not older, namespace":      {0, 0, 0, 0, 0},
	"exact":                     {0, 0, 0, 0, 0},
	"exact, selected":           {0, 0, 0, 0, 0},
	"stream":                    {0.25, 0, 0, 0, 0},
	"stream, namespace":         {0, 0, 0, 0, 0},
	"stream, selected":          {0, 0, 0, 0, 0},
	"stream, any":               {0, 0, 0, 0, 0},
	"stream, not older":         {0, 0, 0, 0, 0},
	"get":                       {0, 0, 0, 0, 0},
	"get, several":              {0.02, 0, 0, 0, 0},
	"get, any":                  {0, 0, 0, 0, 0},
	"get, not older":            {0, 0, 0, 0, 0},
	"watch, without version":    {0, 0, 0, 0, 0},
	"watch, legacy path":        {0, 0, 0, 0, 0},
	watchKind:                   {0, 0, 0, 0, 0},
	watchListKind:               {0, 0, 0, 0, 0},
	watchStreamKind:             {0, 0, 0, 0, 0},
}

// minReadsPerSecond is the least number of answered reads of each resource per second of a run.
const minReadsPerSecond = 1

func TestEveryKindOfReadHasAShare(t *testing.T) {
	for _, k := range kinds {
		if _, ok := minCachedShare[k.name]; !ok {
			t.Errorf("%s has no share", k.name)
		}
	}
}
