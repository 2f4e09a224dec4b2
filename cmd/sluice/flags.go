package main

import (
	"fmt"

	"github.com/spf13/pflag"

	"sluice/config"
)

// flags are the command line flags of serve. They override the configuration file.
type flags struct {
	config    string
	overrides *config.File
}

func (f *flags) register(set *pflag.FlagSet) {
	o := f.overrides
	set.StringVar(&f.config, "config", "", "path of the configuration file")
	set.StringVar(&o.Upstream.Kubeconfig, "kubeconfig", o.Upstream.Kubeconfig,
		"path of the kubeconfig for the apiserver; default: $KUBECONFIG, ~/.kube/config, the pod's service account")
	set.StringVar(&o.Listen, "listen", o.Listen, "address of the API listener (default 127.0.0.1:8443)")
	set.StringVar(&o.Admin.Listen, "admin-listen", o.Admin.Listen,
		"address of the admin listener: health checks and metrics (default 127.0.0.1:9443)")
	set.StringVar(&o.Proxy.Listen, "proxy-listen", o.Proxy.Listen, "address of a listener for clients that use an HTTP proxy; default: none")
	set.BoolVar(&o.Admin.Profiling, "profiling", o.Admin.Profiling, "serve /debug/pprof on the admin listener")
	set.StringVar(&o.TLS.CertFile, "tls-cert-file", o.TLS.CertFile,
		"path of the serving certificate; without it Sluice issues one in --cert-dir")
	set.StringVar(&o.TLS.KeyFile, "tls-private-key-file", o.TLS.KeyFile, "path of the private key of the serving certificate")
	set.StringVar(&o.TLS.CertDir, "cert-dir", o.TLS.CertDir,
		"directory of the CA and the certificate that Sluice issues (default $XDG_STATE_HOME/sluice or ~/.local/state/sluice)")
	set.StringVar(&o.Authentication.ClientCAFile, "client-ca-file", o.Authentication.ClientCAFile,
		"path of the CA of client certificates; without it client certificates are ignored")
	set.BoolVar(&o.DebugHeaders, "debug-headers", o.DebugHeaders,
		"add the headers Sluice-Source and Sluice-As-Of to responses: where an answer comes from, and which state it shows")
	set.StringVar(&o.Log.Level, "log-level", o.Log.Level, "debug, info, warn or error (default info)")
	set.StringVar(&o.Log.Format, "log-format", o.Log.Format, "json or console (default json)")
}

// file returns the configuration: the file, overridden by flags, defaulted and validated.
func (f *flags) file(set *pflag.FlagSet) (*config.File, error) {
	document := config.Empty()
	if f.config != "" {
		var err error
		if document, err = config.Read(f.config); err != nil {
			return nil, err
		}
	}
	f.override(set, document.File)
	if err := document.Check(); err != nil {
		return nil, fmt.Errorf("configuration:\n%w", err)
	}
	return document.File, nil
}

// override sets the fields of the flags that were given.
func (f *flags) override(given *pflag.FlagSet, file *config.File) {
	fields := pflag.NewFlagSet("", pflag.ContinueOnError)
	(&flags{overrides: file}).register(fields)
	given.Visit(func(flag *pflag.Flag) {
		_ = fields.Set(flag.Name, flag.Value.String()) // given has taken the same value
	})
}
