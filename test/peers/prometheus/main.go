// Command prometheus runs Prometheus' service discovery with a kubeconfig, for all roles that watch objects. For each
// line of its input it prints the targets that it knows, in one line. It ends with its input.
package main

import (
	"bufio"
	"context"
	"fmt"
	"log/slog"
	"os"
	"slices"
	"strings"
	"sync"

	prom "github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/common/config"
	"github.com/prometheus/prometheus/discovery"
	"github.com/prometheus/prometheus/discovery/kubernetes"
	"github.com/prometheus/prometheus/discovery/targetgroup"
)

var roles = []kubernetes.Role{
	kubernetes.RolePod, kubernetes.RoleNode, kubernetes.RoleService, kubernetes.RoleEndpointSlice, kubernetes.RoleIngress,
}

func main() {
	var known groups
	for _, role := range roles {
		if err := discover(role, os.Args[1], &known); err != nil {
			fmt.Fprintln(os.Stderr, role, err)
			os.Exit(1)
		}
	}
	for in := bufio.NewScanner(os.Stdin); in.Scan(); {
		fmt.Println(known.line())
	}
}

// discover starts the discovery of a role.
func discover(role kubernetes.Role, kubeconfig string, known *groups) error {
	conf := &kubernetes.SDConfig{Role: role, KubeConfig: kubeconfig, HTTPClientConfig: config.DefaultHTTPClientConfig}
	conf.AttachMetadata.Namespace = role != kubernetes.RoleNode
	registry := prom.NewRegistry()
	metrics := conf.NewDiscovererMetrics(registry, discovery.NewRefreshMetrics(registry))
	d, err := kubernetes.New(slog.New(slog.NewTextHandler(os.Stderr, nil)), metrics, conf)
	if err != nil {
		return err
	}
	updates := make(chan []*targetgroup.Group)
	go d.Run(context.Background(), updates)
	go known.follow(updates)
	return nil
}

// groups are the target groups by their source.
type groups struct {
	lines sync.Map // string to string
}

func (g *groups) follow(updates <-chan []*targetgroup.Group) {
	for update := range updates {
		for _, group := range update {
			if len(group.Targets) == 0 {
				g.lines.Delete(group.Source)
				continue
			}
			g.lines.Store(group.Source, fmt.Sprint(group.Source, group.Labels, group.Targets))
		}
	}
}

func (g *groups) line() string {
	var all []string
	g.lines.Range(func(_, line any) bool {
		all = append(all, line.(string))
		return true
	})
	slices.Sort(all)
	return strings.ReplaceAll(strings.Join(all, "\t"), "\n", " ")
}
