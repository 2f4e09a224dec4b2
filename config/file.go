package config

import (
	"errors"
	"os"
	"path/filepath"
	"slices"
	"strings"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"sluice/codec/projection"
)

// The apiVersion and kind of a configuration file.
const (
	APIVersion = "sluice/v1alpha1"
	Kind       = "Configuration"
)

// File is the configuration file.
type File struct {
	// APIVersion is the version of the format.
	APIVersion string `json:"apiVersion"`
	// Kind is the kind of the document.
	Kind string `json:"kind"`

	// Listen is the address of the API listener, host:port.
	Listen string `json:"listen,omitempty"`
	// TLS is the serving certificate of the API listener.
	TLS TLS `json:"tls,omitempty"`
	// Upstream is the connection to the apiserver.
	Upstream Upstream `json:"upstream,omitempty"`
	// Authentication configures how callers are authenticated.
	Authentication Authentication `json:"authentication,omitempty"`
	// Authorization configures how reads from the cache are authorized.
	Authorization Authorization `json:"authorization,omitempty"`
	// Cache configures and limits the watch cache.
	Cache Cache `json:"cache,omitempty"`
	// Limits bounds the memory, connections and requests of callers.
	Limits Limits `json:"limits,omitempty"`
	// Admin is the listener for health checks and metrics.
	Admin Admin `json:"admin,omitempty"`
	// Proxy is the listener for clients that use an HTTP proxy.
	Proxy Proxy `json:"proxy,omitempty"`
	// Projections give callers that do not ask for one a projection of the objects of a resource. The first one counts whose
	// resource and callers match.
	Projections []Projection `json:"projections,omitempty"`
	// Log configures logging.
	Log Log `json:"log,omitempty"`
	// Tracing configures OpenTelemetry traces.
	Tracing Tracing `json:"tracing,omitempty"`
	// Audit configures the audit log.
	Audit Audit `json:"audit,omitempty"`
	// Shutdown configures graceful shutdown.
	Shutdown Shutdown `json:"shutdown,omitempty"`
	// Compression enables compression that the apiserver does not have.
	Compression Compression `json:"compression,omitempty"`
	// Compatibility is "extended" or "strict". Strict rejects requests that this apiserver rejects, even where
	// the API documentation specifies it or Sluice could transcode it.
	Compatibility string `json:"compatibility,omitempty" enum:"extended,strict"`
	// Features are enabled one by one.
	Features Features `json:"features,omitempty"`
	// DebugHeaders adds headers to responses: Sluice-Source, the source and the reason, and Sluice-As-Of, which state is shown.
	DebugHeaders bool `json:"debugHeaders,omitempty" reload:"true"`
}

// Projection has callers receive only some fields of the objects of a resource, unless they may update or patch these or their
// status: an update by a client that has not received a field would clear it.
type Projection struct {
	// Resource is the resource, such as "pods" or "deployments.apps".
	Resource string `json:"resource"`
	// Callers are those who receive the projection.
	Callers Callers `json:"callers"`
	// Keep are the paths of the only fields that they receive, such as "spec.nodeName", besides the identity of objects.
	Keep []string `json:"keep,omitempty"`
	// Drop are, instead, the paths of the fields that they do not receive.
	Drop []string `json:"drop,omitempty"`
	// Quiet has watches omit modifications that leave the projection as it was.
	Quiet bool `json:"quiet,omitempty"`
}

// Text returns the text of the projection.
func (p *Projection) Text() (projection.Projection, error) {
	return projection.Parse(strings.Join(p.Keep, "+"), strings.Join(p.Drop, "+"))
}

// Tracing configures OpenTelemetry traces.
type Tracing struct {
	// Endpoint is the URL to which traces are sent by OTLP over HTTP, such as http://collector:4318/v1/traces; empty means
	// none.
	Endpoint string `json:"endpoint,omitempty"`
	// SamplingRatePerMillion is how many of a million requests are traced. Those of system:masters and system:monitoring are
	// traced whenever they ask for it.
	SamplingRatePerMillion int `json:"samplingRatePerMillion,omitempty"`
}

// The values of Authentication.Callers.
const (
	CallersAll  = "all"
	CallersSelf = "self"
)

// The values of Compatibility.
const (
	Extended = "extended"
	Strict   = "strict"
)

// Features are API features that are off by default or absent in released apiservers. All are off by
// default.
type Features struct {
	// ShardSelector serves lists and watches with the parameter shardSelector (KEP-5866) even if the apiserver ignores it.
	ShardSelector bool `json:"shardSelector,omitempty"`
}

// TLS is the serving certificate of the API listener. With an empty CertFile, Sluice issues one from a
// CA of its own and keeps both in CertDir.
type TLS struct {
	// CertFile and KeyFile are the paths of a PEM certificate, with its chain, and its private key.
	CertFile string `json:"certFile,omitempty"`
	KeyFile  string `json:"keyFile,omitempty"`
	// SNI holds further certificates. A client that sends a server name (RFC 6066) gets the first
	// certificate in the list that covers it, else the one above.
	SNI []KeyPair `json:"sni,omitempty"`
	// CertDir is the directory of the CA and the certificate that Sluice creates. If it is empty, that is
	// $XDG_STATE_HOME/sluice or ~/.local/state/sluice.
	CertDir string `json:"certDir,omitempty"`
	// Hosts are additional DNS names and IP addresses of the certificate that Sluice creates.
	Hosts []string `json:"hosts,omitempty"`
}

// Dir returns CertDir or its default, which no working directory changes.
func (t TLS) Dir() (string, error) {
	state := os.Getenv("XDG_STATE_HOME")
	if t.CertDir != "" {
		return t.CertDir, nil
	}
	if !filepath.IsAbs(state) {
		home, err := os.UserHomeDir()
		if err != nil {
			return "", errors.New("name a directory for certificates with --cert-dir: there is neither $XDG_STATE_HOME nor $HOME")
		}
		state = filepath.Join(home, ".local", "state")
	}
	return filepath.Join(state, "sluice"), nil
}

// Upstream is the connection to the apiserver. An empty Kubeconfig means client-go's loading rules:
// $KUBECONFIG, ~/.kube/config, the pod's service account.
type Upstream struct {
	// Kubeconfig is the path of a kubeconfig with the address of the apiserver and Sluice's own identity.
	Kubeconfig string `json:"kubeconfig,omitempty"`
	// Context is the context in the kubeconfig; empty means its current one.
	Context string `json:"context,omitempty"`
	// Compress asks the apiserver to compress Sluice's own lists and watches, for a line to the
	// apiserver that is slow or paid by the byte. Compression costs the apiserver CPU time. Up to 1.36,
	// it compresses lists but not watches.
	Compress bool `json:"compress,omitempty"`
	// FrontProxy is a client certificate with which the apiserver trusts X-Remote-* headers. Without
	// it, requests of callers with a client certificate are forwarded by impersonation.
	FrontProxy UpstreamFrontProxy `json:"frontProxy,omitempty"`
}

// UpstreamFrontProxy holds the paths of the PEM certificate of a front proxy and its private key, and the
// headers in which it names users.
type UpstreamFrontProxy struct {
	// CertFile and KeyFile are the paths of the PEM certificate and its private key.
	CertFile string `json:"certFile,omitempty"`
	KeyFile  string `json:"keyFile,omitempty"`
	// UserHeaders, UIDHeaders, GroupHeaders and ExtraPrefixes are the headers that the apiserver expects,
	// by its flags --requestheader-*. If UserHeaders is empty, Sluice reads them all from the ConfigMap
	// that the apiserver publishes them in.
	UserHeaders   []string `json:"userHeaders,omitempty"`
	UIDHeaders    []string `json:"uidHeaders,omitempty"`
	GroupHeaders  []string `json:"groupHeaders,omitempty"`
	ExtraPrefixes []string `json:"extraPrefixes,omitempty"`
}

// KeyPair holds the paths of a PEM certificate and its private key.
type KeyPair struct {
	// CertFile and KeyFile are the paths of the PEM certificate and its private key.
	CertFile string `json:"certFile,omitempty"`
	KeyFile  string `json:"keyFile,omitempty"`
}

// Authentication configures how callers are authenticated.
type Authentication struct {
	// ClientCAFile is the CA of client certificates; empty ignores client certificates.
	ClientCAFile string `json:"clientCAFile,omitempty"`
	// Tokens reviews bearer tokens. Without it, requests with tokens are forwarded unverified.
	Tokens *bool `json:"tokens,omitempty"`
	// TokenTTL is how long the result of a TokenReview is cached.
	TokenTTL metav1.Duration `json:"tokenTTL,omitempty" reload:"true"`
	// TokenAudiences are the audiences for one of which a token must be valid; none means those of the
	// apiserver.
	TokenAudiences []string `json:"tokenAudiences,omitempty"`
	// ReviewsInFlight is how many TokenReviews and SubjectAccessReviews run at the same time. A quarter of them is for
	// callers and accesses that were allowed before, and one address or user has at most three quarters of the others.
	ReviewsInFlight int `json:"reviewsInFlight,omitempty"`
	// Callers is "all", or "self" to serve only callers that present a token of the user of Sluice's own
	// credentials, as in a sidecar. That needs no right to make reviews. Requests of others pass through.
	Callers string `json:"callers,omitempty" enum:"all,self"`
	// FrontProxy names the proxies that are trusted to name callers in headers.
	FrontProxy FrontProxy `json:"frontProxy,omitempty"`
	// Anonymous serves requests without credentials as system:anonymous. The apiserver must allow
	// anonymous requests, for every path: Sluice does not know conditions of its AuthenticationConfiguration.
	Anonymous bool `json:"anonymous,omitempty"`
}

// FrontProxy names the proxies that are trusted to name callers in headers, as the flags
// --requestheader-* of kube-apiserver do. With an empty ClientCAFile there are none.
type FrontProxy struct {
	// ClientCAFile is the CA of the client certificates of the proxies. It must issue certificates to
	// nobody else, unless Names is set.
	ClientCAFile string `json:"clientCAFile,omitempty"`
	// Names are the common names that these certificates may have; none means any.
	Names []string `json:"names,omitempty"`
	// UserHeaders, UIDHeaders and GroupHeaders name the headers with the user, its UID and its groups.
	UserHeaders  []string `json:"userHeaders,omitempty"`
	UIDHeaders   []string `json:"uidHeaders,omitempty"`
	GroupHeaders []string `json:"groupHeaders,omitempty"`
	// ExtraPrefixes are the prefixes of the headers with the extra attributes of the user.
	ExtraPrefixes []string `json:"extraPrefixes,omitempty"`
}

// Authorization configures how reads from the cache are authorized.
type Authorization struct {
	// AllowTTL and DenyTTL are how long the results of SubjectAccessReviews are cached.
	AllowTTL metav1.Duration `json:"allowTTL,omitempty" reload:"true"`
	DenyTTL  metav1.Duration `json:"denyTTL,omitempty" reload:"true"`
	// StaleFor is how long the last results for a token and an access are used for reads of any version (resourceVersion=0) and
	// for paths of the admin listener, while the apiserver cannot be asked; 0 uses them no longer than for other reads, which is
	// as long as they are cached once more.
	StaleFor *metav1.Duration `json:"staleFor,omitempty" reload:"true"`
	// WatchRecheck is the longest time after which the caller of an open watch is authenticated and
	// authorized again, or longer if there are very many watches.
	WatchRecheck metav1.Duration `json:"watchRecheck,omitempty" reload:"true"`
	// IgnoredExtra lists keys of the extra attributes of users that no authorizer of the cluster looks at, such as
	// "authentication.kubernetes.io/*", where the "*" stands for any rest. Access reviews leave them out, so that the pods
	// of a DaemonSet, each with a token of its own, share them. Do not set it if an authorization webhook looks at them.
	IgnoredExtra []string `json:"ignoredExtra,omitempty"`
	// AllowedNamespaces lists the callers who receive, in answer to a list or watch across namespaces that they may not make, the
	// objects of the namespaces that they may read, as do those who send the header "Sluice-Namespaces: allowed".
	AllowedNamespaces Callers `json:"allowedNamespaces,omitempty"`
}

// Cache configures and limits the watch cache.
type Cache struct {
	// Exclude lists resources that are never cached, such as "configmaps" or
	// "leases.coordination.k8s.io". It replaces the default list. Secrets need no entry.
	Exclude []string `json:"exclude,omitempty"`
	// Secrets caches secrets, in memory only. Nothing else in the file can cause that.
	Secrets bool `json:"secrets,omitempty"`
	// HistoryAge and HistoryBytes limit the event history of each resource.
	HistoryAge   metav1.Duration `json:"historyAge,omitempty"`
	HistoryBytes int64           `json:"historyBytes,omitempty"`
	// EncodedBytes limits the memory for encoded and compressed objects, over all resources. They yield to
	// other memory, down to an eighth. With 0 every response is encoded anew.
	EncodedBytes *int64 `json:"encodedBytes,omitempty" reload:"true"`
	// MaxBytes is the approximate memory limit of all stores together. 0 means half of the memory that the process may
	// use: of the least of GOMEMLIMIT, the memory limit of the container, and the memory of the machine. Beyond
	// it, the stores whose readers gain least by them are stopped.
	MaxBytes int64 `json:"maxBytes,omitempty"`
	// Idle is how long a store runs without being read.
	Idle metav1.Duration `json:"idle,omitempty"`
	// CheckEvery is the minimum time between two comparisons of a store with the apiserver.
	CheckEvery metav1.Duration `json:"checkEvery,omitempty"`
	// Proofs limits the apiserver time for proofs that states are recent.
	Proofs Proofs `json:"proofs,omitempty"`
}

// Proofs limits the apiserver time, for each resource and on average, of proofs that its store is
// recent: by probes, by roll calls and by forwarding small reads. Once that is spent, a proof costs no
// more than the reads that wait for it would cost the apiserver themselves, or takes longer.
type Proofs struct {
	// CorePercent is the part of one core's time, estimated from the duration and length of the
	// responses.
	CorePercent float64 `json:"corePercent,omitempty" reload:"true"`
	// BytesPerSecond limits the length of the responses.
	BytesPerSecond int64 `json:"bytesPerSecond,omitempty" reload:"true"`
}

// Excluded returns the resources that are never cached: Exclude, and secrets unless Secrets is set.
func (c *Cache) Excluded() []string {
	if c.Secrets {
		return c.Exclude
	}
	return append(slices.Clone(c.Exclude), "secrets")
}

// Compression enables compression that the apiserver does not have. Long lists and gets are always
// compressed, as the apiserver does.
type Compression struct {
	// Watches compresses every watch whose client accepts it, not only streaming lists
	// (sendInitialEvents). Events become a third as long and cost the clients more CPU than they save
	// the server: for lines that are slow or paid for by the byte.
	Watches bool `json:"watches,omitempty" reload:"true"`
}

// Admin is the listener for health checks and metrics.
type Admin struct {
	// Listen is the address of the listener, host:port. It serves HTTPS with the certificates of the API
	// listener; plain HTTP on a loopback address with open access.
	Listen string `json:"listen,omitempty"`
	// Access limits the readers of metrics and the configuration: "authorized" are callers whose roles allow to
	// get the path (nonResourceURLs), "open" is everybody. The default is "open" on a loopback address
	// and "authorized" on others. Health checks are always open.
	Access string `json:"access,omitempty" enum:"authorized,open"`
	// Hosts are the host names by which clients may address the listener, besides localhost and IP
	// addresses. Requests for other hosts are refused, so that a web page that rebinds its DNS name
	// cannot read the metrics.
	Hosts []string `json:"hosts,omitempty"`
	// Profiling enables /debug/pprof. It requires a loopback address in Listen.
	Profiling bool `json:"profiling,omitempty"`
}

// The values of Admin.Access.
const (
	AccessAuthorized = "authorized"
	AccessOpen       = "open"
)

// PlainHTTP reports whether the listener serves plain HTTP. The Admin must have its defaults.
func (a *Admin) PlainHTTP() bool { return a.Access == AccessOpen && loopback(a.Listen) }

// Log configures logging.
type Log struct {
	// Level is the least severe level that is logged. Lines of requests have level info, and those that Requests leaves out debug.
	Level string `json:"level,omitempty" reload:"true" enum:"debug,info,warn,error"`
	// Format is how a line is written: as a JSON object, or as text.
	Format string `json:"format,omitempty" enum:"json,console"`
	// Requests is "notable" to log the requests that are refused, fail, get an error other than 404 and 409, or take longer than a
	// second, or "all".
	Requests string `json:"requests,omitempty" reload:"true" enum:"notable,all"`
}

// The values of Log.Requests.
const (
	RequestsNotable = "notable"
	RequestsAll     = "all"
)

// Audit configures the audit log of the requests that the apiserver's own lacks.
type Audit struct {
	// Path is the file, or "-" for the standard output, which is not rotated. Empty writes no audit log.
	Path string `json:"path,omitempty"`
	// MaxSize is the size of a file in megabytes at which the next one begins, MaxBackups how many old
	// files are kept, and MaxAge for how many days.
	MaxSize    int `json:"maxSize,omitempty"`
	MaxBackups int `json:"maxBackups,omitempty"`
	MaxAge     int `json:"maxAge,omitempty"`
}

// Shutdown configures graceful shutdown.
type Shutdown struct {
	// Delay is how long requests are still accepted after /readyz has begun to fail, so that load
	// balancers have time to notice.
	Delay metav1.Duration `json:"delay,omitempty"`
	// Grace is how long requests may run after Delay. Watches end when the others have finished.
	Grace metav1.Duration `json:"grace,omitempty"`
}
