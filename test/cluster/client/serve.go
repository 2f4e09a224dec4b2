package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"log"
	"net/http"
	"os"
	"os/signal"
	"syscall"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/client-go/informers"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/rest"
)

// Answer is what the client got for a request.
type Answer struct {
	Code   int    `json:"code"`
	Body   string `json:"body"`
	Server string `json:"server"` // the address that the configuration names
}

// State is what an informer of ConfigMaps has.
type State struct {
	Synced  bool              `json:"synced"`
	Objects map[string]string `json:"objects"` // resource versions by name
}

// serve runs the HTTP server until SIGTERM:
//
//	/healthz         200
//	/get?path=PATH   an Answer: the response to a GET of PATH with the in-cluster configuration
//	/informer        the state of an informer of the pod's ConfigMaps (see State)
//	/echo            copies the body
func serve([]string) error {
	ctx, stop := signal.NotifyContext(context.Background(), syscall.SIGTERM, syscall.SIGINT)
	defer stop()
	mux := http.NewServeMux()
	mux.HandleFunc("GET /healthz", func(w http.ResponseWriter, _ *http.Request) { fmt.Fprintln(w, "ok") })
	mux.HandleFunc("POST /echo", func(w http.ResponseWriter, r *http.Request) { _, _ = io.Copy(w, r.Body) })
	config, err := rest.InClusterConfig()
	switch {
	case errors.Is(err, rest.ErrNotInCluster):
		log.Print("no service account: serving without a client")
	case err != nil:
		return err
	default:
		if err := handleClient(ctx, mux, config); err != nil {
			return err
		}
	}
	server := &http.Server{Addr: ":8080", Handler: mux}
	go func() {
		<-ctx.Done()
		_ = server.Close()
	}()
	log.Print("serving on port 8080")
	if err := server.ListenAndServe(); !errors.Is(err, http.ErrServerClosed) {
		return err
	}
	return nil
}

func handleClient(ctx context.Context, mux *http.ServeMux, config *rest.Config) error {
	client, err := kubernetes.NewForConfig(config)
	if err != nil {
		return err
	}
	transport, err := rest.HTTPClientFor(config)
	if err != nil {
		return err
	}
	mux.HandleFunc("GET /get", func(w http.ResponseWriter, r *http.Request) {
		answer := Answer{Server: config.Host}
		response, err := transport.Get(config.Host + r.URL.Query().Get("path"))
		if err != nil {
			http.Error(w, err.Error(), http.StatusBadGateway)
			return
		}
		defer response.Body.Close()
		body, _ := io.ReadAll(response.Body) // what is there tells what is wrong
		answer.Code, answer.Body = response.StatusCode, string(body)
		_ = json.NewEncoder(w).Encode(answer)
	})
	factory := informers.NewSharedInformerFactoryWithOptions(client, 0, informers.WithNamespace(os.Getenv("POD_NAMESPACE")))
	watched := factory.Core().V1().ConfigMaps().Informer()
	go watched.RunWithContext(ctx)
	mux.HandleFunc("GET /informer", func(w http.ResponseWriter, _ *http.Request) {
		state := State{Synced: watched.HasSynced(), Objects: map[string]string{}}
		for _, o := range watched.GetStore().List() {
			m := o.(*corev1.ConfigMap)
			state.Objects[m.Name] = m.ResourceVersion
		}
		_ = json.NewEncoder(w).Encode(state)
	})
	return nil
}
