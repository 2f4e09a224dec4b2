package upstream

import (
	"math/rand/v2"
	"net/http"
	"testing"
	"time"
)

// A source answers requests by a clock that is ahead of the machine's.
type source struct {
	ahead time.Duration
	rng   *rand.Rand
}

// sample observes a response to a request at a time of the machine. It is under way for at most a tenth of a second.
func (s *source) sample(c *Clock, at time.Time) {
	there, back := time.Duration(s.rng.Int64N(5e7)), time.Duration(s.rng.Int64N(5e7))
	date := at.Add(there).Add(s.ahead).UTC().Format(http.TimeFormat)
	c.observe(http.Header{"Date": {date}}, at, at.Add(there+back))
}

var anyTime = time.Date(2026, 11, 28, 12, 0, 0, 0, time.UTC)

func newSource(ahead time.Duration) *source { return &source{ahead, rand.New(rand.NewPCG(1, 2))} }

// Requests come at any fraction of a second, or always at the same one.
func TestAgesFollowASkewOfMoreThanThreeSecondsAndNoneOfLessThanTwo(t *testing.T) {
	for ahead := -6 * time.Second; ahead <= 6*time.Second; ahead += 100 * time.Millisecond {
		for phase := range 11 {
			s, c, changes := newSource(ahead), &Clock{}, 0
			at := anyTime
			for range 30 {
				if at = at.Add(5 * time.Second); phase == 10 {
					at = at.Add(time.Duration(s.rng.Int64N(1e9)))
				}
				was := c.offset.Load()
				s.sample(c, at.Add(time.Duration(phase)*time.Second/10))
				if c.offset.Load() != was {
					changes++
				}
			}
			offset := time.Duration(c.offset.Load())
			switch {
			case changes > 1:
				t.Errorf("%v ahead: the offset has changed %d times", ahead, changes)
			case ahead.Abs() < 1900*time.Millisecond && offset != 0:
				t.Errorf("%v ahead: offset %v", ahead, offset)
			case (ahead.Abs() > 3100*time.Millisecond || offset != 0) && (offset-ahead).Abs() > 600*time.Millisecond:
				t.Errorf("%v ahead: offset %v", ahead, offset)
			case (c.Skew() - ahead).Abs() > 600*time.Millisecond:
				t.Errorf("%v ahead: skew %v", ahead, c.Skew())
			}
		}
	}
}

func TestClockThatIsSetIsFollowed(t *testing.T) {
	s, c, at := newSource(0), &Clock{}, anyTime
	for _, ahead := range []time.Duration{0, 90 * time.Second, 10 * time.Second, -5 * time.Minute, time.Second} {
		s.ahead = ahead
		for range clockSamples {
			at = at.Add(5 * time.Second)
			s.sample(c, at)
		}
		want := ahead
		if ahead <= clockSkew && ahead >= -clockSkew {
			want = 0
		}
		if got := time.Duration(c.offset.Load()); (got - want).Abs() > 600*time.Millisecond {
			t.Errorf("%v ahead: offset %v", ahead, got)
		}
	}
}

func TestDatesOfOthersDoNotCount(t *testing.T) {
	s, other, c, at := newSource(10*time.Second), newSource(time.Hour), &Clock{}, anyTime
	for i := range 5 * clockSamples {
		at = at.Add(5 * time.Second)
		s.sample(c, at)
		if i%3 == 0 {
			other.sample(c, at)
		}
		date := at.Add(-time.Hour).UTC().Format(http.TimeFormat)
		c.observe(http.Header{"Date": {date}, "Age": {"3600"}}, at, at) // from a cache
		c.observe(http.Header{"Date": {date}}, at, at.Add(2*time.Second))
		c.observe(http.Header{"Date": {"now"}}, at, at)
		c.observe(http.Header{}, at, at)
		if got := time.Duration(c.offset.Load()); i > 2 && (got-s.ahead).Abs() > 600*time.Millisecond {
			t.Fatalf("offset %v after %d responses", got, i)
		}
	}
}
