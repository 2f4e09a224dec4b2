package config

import (
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// The identity of the configuration file's format.
const (
	APIVersion = "sluice/v1alpha1"
	Kind       = "Configuration"
)

// File is the configuration file.
type File struct {
	APIVersion string `json:"apiVersion"`
	Kind       string `json:"kind"`

	// Listen is the address of the API listener, host:port.
	Listen string `json:"listen,omitempty"`
	// TLS secures the API listener.
	TLS TLS `json:"tls,omitempty"`
	// Upstream is the apiserver.
	Upstream Upstream `json:"upstream,omitempty"`
	// Authentication verifies callers.
	Authentication Authentication `json:"authentication,omitempty"`
	// Authorization decides what verified callers may read out of the cache.
	Authorization Authorization `json:"authorization,omitempty"`
	// Cache is what is kept in memory.
	Cache Cache `json:"cache,omitempty"`
	// Admin is the listener for health checks and metrics.
	Admin Admin `json:"admin,omitempty"`
	// Log says what is logged and how.
	Log Log `json:"log,omitempty"`
	// Shutdown is how the process ends.
	Shutdown Shutdown `json:"shutdown,omitempty"`
	// Compression says what is compressed beyond what the apiserver compresses.
	Compression Compression `json:"compression,omitempty"`
	// Compatibility is "extended" or "strict". Strict refuses what this apiserver
	// refuses, though its documentation promises it or Sluice could do it.
	Compatibility string `json:"compatibility,omitempty"`
	// Features are switched on one by one.
	Features Features `json:"features,omitempty"`
	// DebugHeaders makes responses tell, in Sluice-Source, whether they come
	// out of the cache, and if not, why.
	DebugHeaders bool `json:"debugHeaders,omitempty"`
}

// The values of Compatibility.
const (
	Extended = "extended"
	Strict   = "strict"
)

// Features are what no released apiserver does unless told to. All are off by
// default.
type Features struct {
	// ShardSelector serves lists and watches with shardSelector (KEP-5866).
	ShardSelector bool `json:"shardSelector,omitempty"`
	// DropManagedFields honours drop=metadata.managedFields in Accept
	// (KEP-5958).
	DropManagedFields bool `json:"dropManagedFields,omitempty"`
	// ETags gives lists and gets out of the cache entity tags, and answers 304
	// by them.
	ETags bool `json:"etags,omitempty"`
}

// TLS secures a listener. Without CertFile a CA and a certificate are made and
// kept in CertDir.
type TLS struct {
	CertFile string `json:"certFile,omitempty"`
	KeyFile  string `json:"keyFile,omitempty"`
	// CertDir keeps the certificates that Sluice makes for itself.
	CertDir string `json:"certDir,omitempty"`
	// Hosts are the names and addresses that a certificate made here is for,
	// beside those of the machine.
	Hosts []string `json:"hosts,omitempty"`
}

// Upstream is the apiserver. An empty Kubeconfig means client-go's rules:
// $KUBECONFIG, ~/.kube/config, the pod's service account.
type Upstream struct {
	Kubeconfig string `json:"kubeconfig,omitempty"`
	Context    string `json:"context,omitempty"`
	// FrontProxy is a client certificate by which the apiserver trusts
	// X-Remote-* headers. Without it, callers known by certificate are
	// forwarded by impersonation.
	FrontProxy KeyPair `json:"frontProxy,omitempty"`
}

// KeyPair names the files of a certificate and its key.
type KeyPair struct {
	CertFile string `json:"certFile,omitempty"`
	KeyFile  string `json:"keyFile,omitempty"`
}

// Authentication verifies callers.
type Authentication struct {
	// ClientCAFile verifies client certificates; empty takes none.
	ClientCAFile string `json:"clientCAFile,omitempty"`
	// TokenTTL is how long the review of a token is remembered.
	TokenTTL metav1.Duration `json:"tokenTTL,omitempty"`
}

// Authorization decides what verified callers may read out of the cache.
type Authorization struct {
	// AllowTTL and DenyTTL are how long a decision is remembered.
	AllowTTL metav1.Duration `json:"allowTTL,omitempty"`
	DenyTTL  metav1.Duration `json:"denyTTL,omitempty"`
	// WatchRecheck is how often the caller of an open watch is authorized
	// again.
	WatchRecheck metav1.Duration `json:"watchRecheck,omitempty"`
}

// Cache is what is kept in memory.
type Cache struct {
	// Exclude names resources that are never cached, as "secrets" or
	// "leases.coordination.k8s.io". It replaces the default.
	Exclude []string `json:"exclude,omitempty"`
	// HistoryAge and HistoryBytes bound the past that is kept per resource.
	HistoryAge   metav1.Duration `json:"historyAge,omitempty"`
	HistoryBytes int64           `json:"historyBytes,omitempty"`
	// EncodedBytes bounds what is kept of encoded and compressed objects, for
	// all resources together. With 0 everything is encoded when it is sent.
	EncodedBytes *int64 `json:"encodedBytes,omitempty"`
	// MaxResources is the most resources that are cached; reads of others pass.
	MaxResources int `json:"maxResources,omitempty"`
	// MaxBytes is about how much memory the stores together may take; 0 is no
	// limit. Those not used for longest are given up first.
	MaxBytes int64 `json:"maxBytes,omitempty"`
	// Idle is how long a store is kept that nobody reads.
	Idle metav1.Duration `json:"idle,omitempty"`
	// CheckEvery is the least time between two comparisons of a store with the
	// upstream.
	CheckEvery metav1.Duration `json:"checkEvery,omitempty"`
}

// Compression says what is compressed beyond what the apiserver compresses: long
// lists and gets, which are compressed anyway.
type Compression struct {
	// Watches compresses all watches of clients that take it, not only those
	// that begin with a long state because sendInitialEvents asks for it.
	Watches bool `json:"watches,omitempty"`
}

// Admin is the listener for health checks and metrics.
type Admin struct {
	Listen string `json:"listen,omitempty"`
	// Profiling serves /debug/pprof there.
	Profiling bool `json:"profiling,omitempty"`
}

// Log says what is logged and how.
type Log struct {
	Level  string `json:"level,omitempty"`  // debug, info, warn, error
	Format string `json:"format,omitempty"` // json, console
}

// Shutdown is how the process ends.
type Shutdown struct {
	// Delay is how long requests are still taken after the process has
	// declared itself not ready, so that balancers notice.
	Delay metav1.Duration `json:"delay,omitempty"`
	// Grace is the time over which open watches are ended after that, and in
	// which other requests may finish.
	Grace metav1.Duration `json:"grace,omitempty"`
}
