package main

import (
	"fmt"
	"sync"

	"github.com/go-logr/zapr"
	"go.uber.org/zap"
	"go.uber.org/zap/zapcore"
	"k8s.io/klog/v2"

	"sluice/config"
)

// libraries is done when the Kubernetes libraries have their logger: it must not change once they log.
var libraries sync.Once

// newLogger returns the logger of the process, and its level, which may change. The first one also becomes
// the logger of the Kubernetes libraries, for warnings and errors only.
func newLogger(c config.Log) (*zap.Logger, zap.AtomicLevel, error) {
	level, err := zap.ParseAtomicLevel(c.Level)
	if err != nil {
		return nil, level, fmt.Errorf("log level: %w", err)
	}
	z := zap.NewProductionConfig()
	z.Level = level
	z.Encoding = c.Format
	z.Sampling = nil
	z.DisableCaller, z.DisableStacktrace = true, true
	z.EncoderConfig.TimeKey = "ts"
	z.EncoderConfig.EncodeTime = zapcore.RFC3339NanoTimeEncoder
	z.EncoderConfig.EncodeDuration = zapcore.SecondsDurationEncoder
	log, err := z.Build()
	if err != nil {
		return nil, level, fmt.Errorf("log: %w", err)
	}
	libraries.Do(func() {
		klog.SetLogger(zapr.NewLogger(log.Named("kubernetes").WithOptions(zap.IncreaseLevel(zap.WarnLevel))))
	})
	return log, level, nil
}
