package main

import (
	"errors"
	"fmt"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"sluice/config"
)

// flags are the command line flags of serve. They override the configuration file.
type flags struct {
	config    string
	overrides config.File
}

// goneFlag is the value of a flag that has gone: the sentence about its replacement.
type goneFlag string

// String implements pflag.Value.
func (goneFlag) String() string { return "" }

// Type implements pflag.Value.
func (goneFlag) Type() string { return "" }

// Set implements pflag.Value.
func (g goneFlag) Set(string) error { return errors.New(string(g)) }

// gone refuses flags of earlier releases.
func gone(set *pflag.FlagSet, sentence string, names ...string) {
	for _, name := range names {
		f := set.VarPF(goneFlag(sentence), name, "", sentence)
		f.Hidden, f.NoOptDefVal = true, "true"
	}
}

// goneCommand refuses a command of earlier releases.
func goneCommand(name, sentence string) *cobra.Command {
	return &cobra.Command{Use: name, Hidden: true, DisableFlagParsing: true, RunE: func(*cobra.Command, []string) error {
		return errors.New(sentence)
	}}
}

func (f *flags) register(set *pflag.FlagSet) {
	o := &f.overrides
	set.StringVar(&f.config, "config", "", "path of the configuration file")
	set.StringVar(&o.Upstream.Kubeconfig, "kubeconfig", "",
		"path of the kubeconfig for the apiserver; default: $KUBECONFIG, ~/.kube/config, the pod's service account")
	set.StringVar(&o.Listen, "listen", "", "address of the API listener (default 127.0.0.1:8443)")
	set.StringVar(&o.Admin.Listen, "admin-listen", "",
		"address of the admin listener: health checks and metrics (default 127.0.0.1:9443)")
	set.StringVar(&o.Proxy.Listen, "proxy-listen", "", "address of a listener for clients that use an HTTP proxy; default: none")
	gone(set, "the proxy leads to the API only, where clients authenticate: remove the flag", "proxy-users-file")
	set.BoolVar(&o.Admin.Profiling, "profiling", false, "serve /debug/pprof on the admin listener")
	set.StringVar(&o.TLS.CertFile, "tls-cert-file", "",
		"path of the serving certificate; without it Sluice issues one in --cert-dir")
	set.StringVar(&o.TLS.KeyFile, "tls-private-key-file", "", "path of the private key of the serving certificate")
	set.StringVar(&o.TLS.CertDir, "cert-dir", "",
		"directory of the CA and the certificate that Sluice issues (default sluice-certs)")
	set.StringVar(&o.Authentication.ClientCAFile, "client-ca-file", "",
		"path of the CA of client certificates; without it client certificates are ignored")
	set.BoolVar(&o.DebugHeaders, "debug-headers", false,
		"add the headers Sluice-Source and Sluice-As-Of to responses: where an answer comes from, and which state it shows")
	set.StringVar(&o.Log.Level, "log-level", "", "debug, info, warn or error (default info)")
	set.StringVar(&o.Log.Format, "log-format", "", "json or console (default json)")
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

func (f *flags) override(set *pflag.FlagSet, file *config.File) {
	o := &f.overrides
	for name, field := range map[string]struct{ to, from *string }{
		"kubeconfig":           {&file.Upstream.Kubeconfig, &o.Upstream.Kubeconfig},
		"listen":               {&file.Listen, &o.Listen},
		"admin-listen":         {&file.Admin.Listen, &o.Admin.Listen},
		"proxy-listen":         {&file.Proxy.Listen, &o.Proxy.Listen},
		"tls-cert-file":        {&file.TLS.CertFile, &o.TLS.CertFile},
		"tls-private-key-file": {&file.TLS.KeyFile, &o.TLS.KeyFile},
		"cert-dir":             {&file.TLS.CertDir, &o.TLS.CertDir},
		"client-ca-file":       {&file.Authentication.ClientCAFile, &o.Authentication.ClientCAFile},
		"log-level":            {&file.Log.Level, &o.Log.Level},
		"log-format":           {&file.Log.Format, &o.Log.Format},
	} {
		if set.Changed(name) {
			*field.to = *field.from
		}
	}
	for name, field := range map[string]struct{ to, from *bool }{
		"profiling":     {&file.Admin.Profiling, &o.Admin.Profiling},
		"debug-headers": {&file.DebugHeaders, &o.DebugHeaders},
	} {
		if set.Changed(name) {
			*field.to = *field.from
		}
	}
}
