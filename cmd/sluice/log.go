package main

import (
	"fmt"

	"github.com/go-logr/zapr"
	"go.uber.org/zap"
	"go.uber.org/zap/zapcore"
	"k8s.io/klog/v2"

	"sluice/config"
)

// newLogger returns the logger of the process, and its level, which may change. It also becomes the
// logger of the Kubernetes libraries, for warnings and errors only.
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
	klog.SetLogger(zapr.NewLogger(log.Named("kubernetes").WithOptions(zap.IncreaseLevel(zap.WarnLevel))))
	return log, level, nil
}
