package abuse

import (
	"strings"
	"time"
)

// Callers are the identities that an attack needs.
type Callers int

const (
	Strangers Callers = iota // have no credentials
	Editors                  // two who may create leases and configmaps in Namespace
	Roleless                 // service accounts without a role
	Readers                  // may list and watch pods
)

// Namespace is where attackers write. The caller of an attack creates it.
const Namespace = "abuse"

// Attack is an attack at full size.
type Attack struct {
	Name string
	What string
	By   Callers
	// Admin reports whether the attack is on the admin listener.
	Admin bool
	Attacker
}

// slowly is how often bodies send a byte.
const slowly = 5 * time.Second

// Attacks returns all attacks.
func Attacks() []Attack {
	post := func(path string, length int64, connections, each int) Streams {
		return Streams{
			Connections: connections, Each: each, Method: "POST", Path: path, Body: length, Every: slowly,
			Header: map[string]string{"content-type": "application/json"},
		}
	}
	const (
		leases     = "/apis/coordination.k8s.io/v1/namespaces/" + Namespace + "/leases"
		configMaps = "/api/v1/namespaces/" + Namespace + "/configmaps"
		reviews    = "/apis/authorization.k8s.io/v1/selfsubjectaccessreviews"
		watches    = "/api/v1/pods?watch=1&resourceVersion=0&fieldSelector=spec.nodeName%3Dnowhere"
	)
	many := "&labelSelector=a%21%3Db" + strings.Repeat("%2Ca%21%3Db", 200)
	stalled := post(configMaps, 1<<20, 1, 70)
	stalled.Every, stalled.RandomToken = 0, 1000
	return []Attack{
		{Name: "unknown-tokens", What: "400 connections of 100 streams, random tokens of 60 KB", Attacker: Streams{
			Connections: 400, Each: 100, Method: "GET", Path: "/api/v1/pods?limit=1", RandomToken: 60 << 10, Again: true,
		}},
		{Name: "small-unknown-tokens", What: "10 connections of 100 streams, random tokens of 1 KB", Attacker: Streams{
			Connections: 10, Each: 100, Method: "GET", Path: "/api/v1/pods?limit=1", RandomToken: 1 << 10, Again: true,
		}},
		{Name: "slow-posts", What: "110 POSTs of leases of 1 MiB by each of 2 editors, a byte every 5 s", By: Editors, Attacker: post(leases, 1<<20, 4, 55)},
		{Name: "endless-posts", What: "the same without a length", By: Editors, Attacker: post(leases, Endless, 4, 55)},
		{Name: "slow-reviews", What: "50 reviews of itself by each of 8 roleless accounts, a byte every 5 s", By: Roleless, Attacker: post(reviews, 1<<20, 8, 50)},
		{Name: "slow-readers", What: "2,000 readers of /openapi/v2, 10 KB/s", By: Roleless, Attacker: Streams{
			Connections: 20, Each: 100, Method: "GET", Path: "/openapi/v2", Every: time.Second, Reads: 10 << 10, Again: true,
		}},
		{Name: "passed-watches", What: "4,000 watches that pass by 201 requirements", By: Readers, Attacker: Streams{
			Connections: 40, Each: 100, Method: "GET", Path: watches + many, Again: true,
		}},
		{Name: "idle-admin", What: "19,800 idle connections to the admin listener", Admin: true, Attacker: Connections{Count: 19_800}},
		{Name: "admin-headers", What: "800 unfinished headers of 1 MB to the admin listener", Admin: true, Attacker: Connections{Count: 800, Header: 1_000_000}},
		{Name: "pings", What: "20 connections that send PING frames", Attacker: Frames{Connections: 20, Kind: Pings}},
		{Name: "windows", What: "20 connections that send WINDOW_UPDATE frames of a byte", Attacker: Frames{Connections: 20, Kind: Windows}},
		{Name: "empty-data", What: "20 connections that send empty DATA frames", By: Editors, Attacker: Frames{Connections: 20, Kind: Empty, Path: configMaps}},
		{Name: "pieces", What: "20 connections that send DATA frames of a byte", By: Editors, Attacker: Frames{Connections: 20, Kind: Pieces, Path: configMaps}},
		{Name: "stalled-posts", What: "70 POSTs of 1 MiB with unknown tokens that stall", Attacker: stalled},
	}
}
