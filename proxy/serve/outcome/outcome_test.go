package outcome

import (
	"testing"

	"sluice/proxy/resources"
)

func TestAReasonMayLastOrCease(t *testing.T) {
	type class struct{ temporary, ceases, cacheable bool }
	for reason, want := range map[Pass]class{
		NotARead:                    {},
		UnservedOptions:             {},
		UnservedFormat:              {},
		SmallRead:                   {},
		ConsistentGet:               {},
		NotAllowed:                  {ceases: true},
		resources.NotCacheable:      {ceases: true},
		resources.NotRunning:        {ceases: true, cacheable: true},
		resources.StoresTooLarge:    {ceases: true, cacheable: true},
		LargeSelector:               {cacheable: true},
		NotReviewed:                 {temporary: true, ceases: true, cacheable: true},
		resources.NotInSync:         {temporary: true, ceases: true, cacheable: true},
		NotProvenInTime:             {temporary: true, cacheable: true},
		VersionNotReached:           {temporary: true, cacheable: true},
		VersionBeforeHistory:        {temporary: true, cacheable: true},
		Pass(resources.Excluded):    {},
		PassBudgetFull:              {},
		Pass("unknown to everyone"): {},
	} {
		if got := (class{reason.Temporary(), reason.Ceases(), reason.Cacheable()}); got != want {
			t.Errorf("%s: %+v, want %+v", reason, got, want)
		}
	}
}
