package main

import (
	"crypto/rand"
	"encoding/csv"
	"errors"
	"fmt"
	"io/fs"
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

// loadTokens returns each user's token. It keeps the tokens in the token file, so that clients survive
// a restart, and generates the others.
func loadTokens(d directory) (map[string]string, error) {
	tokens, err := readTokens(d)
	if err != nil {
		return nil, err
	}
	var file strings.Builder
	w := csv.NewWriter(&file)
	for _, u := range users {
		if tokens[u.name] == "" {
			tokens[u.name] = rand.Text()
		}
		w.Write(tokenRow(tokens[u.name], u))
	}
	w.Flush()
	return tokens, d.write(tokenFile, []byte(file.String()))
}

// tokenRow returns a line of the token file: token, user, UID, groups. Without groups the last column
// must be absent: the apiserver reads an empty column as a group with an empty name.
func tokenRow(token string, u user) []string {
	row := []string{token, u.name, "uid-" + u.name}
	if len(u.groups) > 0 {
		row = append(row, strings.Join(u.groups, ","))
	}
	return row
}

func readTokens(d directory) (map[string]string, error) {
	tokens := make(map[string]string)
	f, err := os.Open(d.file(tokenFile))
	if errors.Is(err, fs.ErrNotExist) {
		return tokens, nil
	}
	if err != nil {
		return nil, err
	}
	defer f.Close()
	r := csv.NewReader(f)
	r.FieldsPerRecord = -1
	rows, err := r.ReadAll()
	if err != nil {
		return nil, fmt.Errorf("read %s: %w", f.Name(), err)
	}
	for _, row := range rows {
		tokens[row[1]] = row[0]
	}
	return tokens, nil
}
