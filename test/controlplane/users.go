package main

import (
	"bytes"
	"crypto/rand"
	"encoding/csv"
	"os"
	"strings"
)

// user is a user with a static token and optionally a client certificate.
type user struct {
	name   string
	groups []string
	cert   bool
}

// users lists the users that have a kubeconfig. reader and nobody have no rights until a test grants
// some; sluice has the rights in rights.go.
var users = []user{
	{name: "admin", groups: []string{"system:masters"}, cert: true},
	{name: "reader", cert: true},
	{name: "nobody", cert: true},
	{name: "sluice"},
	{name: controllerUser, groups: []string{"system:masters"}}, // one identity for all controllers, which start faster with it
	{name: sampleUser, groups: []string{"system:masters"}},
}

const tokenFile = "tokens.csv"

// loadTokens returns each user's token. The file is written once, so that clients survive a restart.
func loadTokens(d directory) (map[string]string, error) {
	if !exists(d.file(tokenFile)) {
		if err := d.write(tokenFile, newTokens()); err != nil {
			return nil, err
		}
	}
	f, err := os.Open(d.file(tokenFile))
	if err != nil {
		return nil, err
	}
	defer f.Close()
	r := csv.NewReader(f)
	r.FieldsPerRecord = -1
	rows, err := r.ReadAll()
	tokens := make(map[string]string)
	for _, row := range rows {
		tokens[row[1]] = row[0]
	}
	return tokens, err
}

// newTokens returns a token file with the columns token, user, UID and groups. Without groups the last column
// must be absent: the apiserver reads an empty column as a group with an empty name.
func newTokens() []byte {
	var file bytes.Buffer
	w := csv.NewWriter(&file)
	for _, u := range users {
		row := []string{rand.Text(), u.name, "uid-" + u.name}
		if len(u.groups) > 0 {
			row = append(row, strings.Join(u.groups, ","))
		}
		w.Write(row)
	}
	w.Flush()
	return file.Bytes()
}
