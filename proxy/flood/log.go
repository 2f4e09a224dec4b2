// Package flood logs events that callers can cause as often as they like, such as refused requests. It costs them
// nothing, so a line for each would let them write as much to the log as they like. Metrics count all.
package flood

import (
	"time"

	"go.uber.org/zap"
	"go.uber.org/zap/zapcore"
)

// Lines is how many lines with the same message a second has: enough to see the cause, while a flood writes no more.
const Lines = 10

// Sampled returns a logger that drops lines beyond Lines.
func Sampled(log *zap.Logger) *zap.Logger {
	return log.WithOptions(zap.WrapCore(func(c zapcore.Core) zapcore.Core {
		return zapcore.NewSamplerWithOptions(c, time.Second, Lines, 0)
	}))
}
