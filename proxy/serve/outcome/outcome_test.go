package outcome

import (
	"errors"
	"net/http"
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

func TestAForwardedReadIsAllowedByA200Only(t *testing.T) {
	for status, want := range map[int]bool{
		http.StatusContinue: false, http.StatusOK: true, http.StatusForbidden: false, http.StatusNotFound: false,
	} {
		allowed := false
		f := Forwarded{Pass: ConsistentGet, Allowed: func() { allowed = true }}
		f.Begun(status)
		f.End()
		if allowed != want {
			t.Errorf("%d: allowed %v", status, allowed)
		}
	}
}

func TestAForwardedReadHasTheReasonForWhichItPasses(t *testing.T) {
	var err error = Forwarded{Pass: SmallRead}
	if reason, ok := errors.AsType[Pass](err); !ok || reason != SmallRead || err.Error() != "small-read" {
		t.Errorf("got %q", err)
	}
}
