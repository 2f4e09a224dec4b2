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

// user is someone with a static token and perhaps a client certificate.
type user struct {
	name   string
	groups []string
	cert   bool
}

// users are those that get a kubeconfig each. reader and nobody have no rights until a test grants
// some; sluice has those in rights.go.
var users = []user{
	{name: "admin", groups: []string{"system:masters"}, cert: true},
	{name: "reader", cert: true},
	{name: "nobody", cert: true},
	{name: "sluice"},
	{name: controllerUser, groups: []string{"system:masters"}}, // one identity for all controllers starts faster
	{name: sampleUser, groups: []string{"system:masters"}},
}

const tokenFile = "tokens.csv"

// loadTokens returns each user's token. Those already in the token file stay as they are, so that
// clients survive a restart; the others are made up.
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

// tokenRow is a line as the apiserver reads it: token, user, uid, groups. Without groups it must
// be shorter, for an empty last column is a group with an empty name.
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
