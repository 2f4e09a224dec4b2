package main

import (
	"context"
	"fmt"
	"net/url"
	"time"

	"go.etcd.io/etcd/server/v3/embed"
)

const (
	// progressInterval is kubeadm's setting. The apiserver's consistent reads from its cache depend on
	// it, so tests of consistent reads need the same.
	progressInterval = 5 * time.Second
	// quota is larger than the default 2 GiB, which long benchmarks exceed.
	quota = 8 << 30
	// etcdFile holds etcd's address, which changes with every start.
	etcdFile = "etcd.url"
)

// startEtcd starts a single etcd member on a free loopback port and returns it with its address.
func startEtcd(ctx context.Context, d directory) (*embed.Etcd, string, error) {
	e, err := embed.StartEtcd(etcdConfig(d))
	if err != nil {
		return nil, "", fmt.Errorf("start etcd: %w", err)
	}
	select {
	case <-e.Server.ReadyNotify():
		return e, "http://" + e.Clients[0].Addr().String(), nil
	case err := <-e.Err():
		return nil, "", fmt.Errorf("start etcd: %w", err)
	case <-ctx.Done():
		e.Close()
		return nil, "", ctx.Err()
	}
}

// etcdConfig returns a configuration that listens on port 0, so that ports cannot collide. A single
// member does not use its peer address, but the address must not change over restarts.
func etcdConfig(d directory) *embed.Config {
	c := embed.NewConfig()
	c.Dir = d.file("etcd")
	any := []url.URL{{Scheme: "http", Host: "127.0.0.1:0"}}
	c.ListenClientUrls, c.AdvertiseClientUrls = any, any
	c.ListenPeerUrls, c.AdvertisePeerUrls = any, any
	c.InitialCluster = c.InitialClusterFromName(c.Name)
	c.EnableGRPCGateway = false
	c.WatchProgressNotifyInterval = progressInterval
	c.UnsafeNoFsync = true
	c.QuotaBackendBytes = quota
	c.LogLevel = "warn"
	c.LogOutputs = []string{d.file("etcd.log")}
	return c
}
