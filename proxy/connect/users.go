package connect

import (
	"bufio"
	"bytes"
	"context"
	"crypto/hmac"
	"crypto/rand"
	"crypto/sha256"
	"errors"
	"fmt"
	"maps"
	"net/http"
	"os"
	"strings"
	"sync"
	"time"

	"go.uber.org/zap"
	"golang.org/x/crypto/bcrypt"

	"sluice/config/files"
	"sluice/proxy/accounts"
	"sluice/proxy/queue"
	"sluice/proxy/request"
)

const (
	// maxCost bounds what verifying one password may cost: about a second at 14.
	maxCost = 14
	// verifyWait is how long a password waits for its turn. One is verified at a time, so that guessing
	// costs at most one core, and addresses get turns, so that guesses from one delay others by one.
	verifyWait = 5 * time.Second
)

var (
	errUnknownUser = errors.New("no user of the proxy")
	errBusy        = errors.New("too many passwords to verify")
)

// Users are those who may use the proxy, from a file of lines name:hash as htpasswd -B writes them. The
// file is read again when it changes.
type Users struct {
	path  string
	files *files.Files
	log   *zap.Logger
	turns *queue.Queue // of addresses

	mu       sync.Mutex // guards all below
	hashes   map[string][]byte
	none     []byte                       // a hash that costs as much as the others, for unknown names
	verified map[string][sha256.Size]byte // the right passwords that were verified, under a key of this process
	key      [sha256.Size]byte
}

// NewUsers returns Users that have loaded the file once.
func NewUsers(path string, log *zap.Logger) (*Users, error) {
	u := &Users{path: path, files: files.New(path), log: log, verified: map[string][sha256.Size]byte{}, turns: queue.New(1)}
	_, _ = rand.Read(u.key[:]) // never fails
	if err := u.load(); err != nil {
		return nil, fmt.Errorf("users of the proxy: %w", err)
	}
	return u, nil
}

// Run loads the file again when it changes, until ctx ends, and always returns nil. It keeps the last
// valid users while the file cannot be used.
func (u *Users) Run(ctx context.Context) error {
	u.files.Follow(ctx, func() {
		if err := u.load(); err != nil {
			u.log.Warn("users of the proxy not reloaded", zap.Error(err))
			return
		}
		u.log.Info("users of the proxy reloaded", zap.String("file", u.path))
	})
	return nil
}

func (u *Users) load() error {
	content, err := os.ReadFile(u.path)
	if err != nil {
		return err
	}
	hashes, cost, err := parseUsers(content)
	if err != nil {
		return fmt.Errorf("%s: %w", u.path, err)
	}
	none, err := bcrypt.GenerateFromPassword([]byte("no such user"), cost)
	if err != nil {
		return err
	}
	u.mu.Lock()
	defer u.mu.Unlock()
	maps.DeleteFunc(u.verified, func(name string, _ [sha256.Size]byte) bool { return !bytes.Equal(hashes[name], u.hashes[name]) })
	u.hashes, u.none = hashes, none
	return nil
}

// parseUsers returns the hashes by name, and their highest cost. Errors name lines, never content.
func parseUsers(content []byte) (hashes map[string][]byte, highest int, err error) {
	hashes, highest = map[string][]byte{}, bcrypt.MinCost
	lines := bufio.NewScanner(bytes.NewReader(content))
	for n := 1; lines.Scan(); n++ {
		line := strings.TrimSpace(lines.Text())
		if line == "" || strings.HasPrefix(line, "#") {
			continue
		}
		name, hash, _ := strings.Cut(line, ":")
		cost, err := bcrypt.Cost([]byte(hash))
		switch {
		case name == "" || err != nil:
			return nil, 0, fmt.Errorf("line %d is not name:bcrypt-hash; write it with htpasswd -B", n)
		case cost > maxCost:
			return nil, 0, fmt.Errorf("line %d: the cost of the hash is above %d", n, maxCost)
		case hashes[name] != nil:
			return nil, 0, fmt.Errorf("line %d: the name is there already", n)
		}
		hashes[name], highest = []byte(hash), max(highest, cost)
	}
	return hashes, highest, lines.Err()
}

// verify returns nil if r names a user of the proxy with the right password (RFC 7617), errUnknownUser
// if not, or errBusy.
func (u *Users) verify(r *http.Request) error {
	asAuthorization := http.Request{Header: http.Header{"Authorization": r.Header["Proxy-Authorization"]}}
	name, password, ok := asAuthorization.BasicAuth()
	if !ok {
		return errUnknownUser
	}
	if u.known(name, password) {
		return nil
	}
	ctx, cancel := context.WithTimeout(r.Context(), verifyWait)
	defer cancel()
	leave, err := u.turns.Enter(ctx, accounts.ByAddress(request.AddressKey(r.RemoteAddr)))
	if err != nil {
		return errBusy
	}
	defer leave()
	if u.known(name, password) { // verified while this request waited
		return nil
	}
	return u.compare(name, password)
}

// known reports whether a password was verified before.
func (u *Users) known(name, password string) bool {
	u.mu.Lock()
	defer u.mu.Unlock()
	digest, verified := u.verified[name]
	return verified && digest == u.digest(password)
}

// compare verifies a password, which takes as long for an unknown name.
func (u *Users) compare(name, password string) error {
	u.mu.Lock()
	hash, ok := u.hashes[name]
	if !ok {
		hash = u.none
	}
	u.mu.Unlock()
	if bcrypt.CompareHashAndPassword(hash, []byte(password)) != nil || !ok {
		return errUnknownUser
	}
	u.mu.Lock()
	defer u.mu.Unlock()
	if !bytes.Equal(u.hashes[name], hash) { // the file has changed meanwhile
		return errUnknownUser
	}
	u.verified[name] = u.digest(password)
	return nil
}

// digest identifies a password.
func (u *Users) digest(password string) (d [sha256.Size]byte) {
	h := hmac.New(sha256.New, u.key[:])
	h.Write([]byte(password))
	h.Sum(d[:0])
	return d
}
