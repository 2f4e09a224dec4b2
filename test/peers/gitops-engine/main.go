// Command gitops-engine runs the cluster cache of Argo CD with a kubeconfig, for some namespaces if their names follow,
// separated by commas. For each line of its input it prints the
// resources that it knows, in one line. It ends with its input.
package main

import (
	"bufio"
	"crypto/sha256"
	"encoding/json"
	"fmt"
	"os"
	"slices"
	"strings"

	"github.com/argoproj/argo-cd/gitops-engine/pkg/cache"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/client-go/tools/clientcmd"
)

func main() {
	var namespaces []string
	if len(os.Args) > 2 && os.Args[2] != "" {
		namespaces = strings.Split(os.Args[2], ",")
	}
	if err := run(os.Args[1], namespaces); err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
}

func run(kubeconfig string, namespaces []string) error {
	config, err := clientcmd.BuildConfigFromFlags("", kubeconfig)
	if err != nil {
		return err
	}
	config.QPS, config.Burst = 50, 100 // as Argo CD sets them
	known := cache.NewClusterCache(config, cache.SetPopulateResourceInfoHandler(digest), cache.SetNamespaces(namespaces),
		cache.SetRespectRBAC(cache.RespectRbacNormal))
	if err := known.EnsureSynced(); err != nil {
		return err
	}
	for in := bufio.NewScanner(os.Stdin); in.Scan(); {
		var all []string
		for key, r := range known.FindResources("") {
			all = append(all, fmt.Sprint(key, r.ResourceVersion, r.Info))
		}
		slices.Sort(all)
		fmt.Println(strings.Join(all, "\t"))
	}
	return nil
}

// digest stands for the whole object in what the cache remembers.
func digest(object *unstructured.Unstructured, _ bool) (any, bool) {
	text, err := json.Marshal(object)
	if err != nil {
		panic(err) // never, for what was decoded from JSON
	}
	return fmt.Sprintf("%x", sha256.Sum256(text)), false
}
