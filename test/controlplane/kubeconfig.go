package main

import (
	"errors"
	"os"
	"strings"

	"k8s.io/client-go/tools/clientcmd"
	api "k8s.io/client-go/tools/clientcmd/api"
)

// writeKubeconfigs writes USER.kubeconfig with the token of each user and, for users that have one,
// USER-cert.kubeconfig with the client certificate. The kubeconfigs refer to no other files.
func writeKubeconfigs(d directory, server string, tokens map[string]string) error {
	var errs []error
	for _, u := range users {
		token := &api.AuthInfo{Token: tokens[u.name]}
		errs = append(errs, writeKubeconfig(d, fileName(u.name), u.name, server, token))
		if !u.cert {
			continue
		}
		cert, err := certAuth(d, u.name+"-cert")
		errs = append(errs, err, writeKubeconfig(d, u.name+"-cert", u.name, server, cert))
	}
	return errors.Join(errs...)
}

// fileName returns a user's name without colons.
func fileName(user string) string { return strings.ReplaceAll(user, ":", "-") }

func certAuth(d directory, pair string) (*api.AuthInfo, error) {
	cert, errCert := os.ReadFile(d.file(pair + ".crt"))
	key, errKey := os.ReadFile(d.file(pair + ".key"))
	return &api.AuthInfo{ClientCertificateData: cert, ClientKeyData: key}, errors.Join(errCert, errKey)
}

func writeKubeconfig(d directory, file, user, server string, auth *api.AuthInfo) error {
	ca, err := os.ReadFile(d.file(servingCA + ".crt"))
	if err != nil {
		return err
	}
	const name = "controlplane"
	content, err := clientcmd.Write(api.Config{
		Clusters:       map[string]*api.Cluster{name: {Server: server, CertificateAuthorityData: ca}},
		AuthInfos:      map[string]*api.AuthInfo{user: auth},
		Contexts:       map[string]*api.Context{name: {Cluster: name, AuthInfo: user}},
		CurrentContext: name,
	})
	if err != nil {
		return err
	}
	return d.write(file+".kubeconfig", content)
}
