package harness

import (
	"bytes"
	"context"
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"net/http"
	"os"
	"path/filepath"
	"sync"
	"testing"

	"google.golang.org/protobuf/encoding/protowire"
)

// BackUp backs etcd up. restore kills the control plane and restores etcd, without raising its revisions, as an
// operator does by mistake: the next start serves an older state, whose versions grow again.
func (c *ControlPlane) BackUp(t testing.TB) (restore func()) {
	t.Helper()
	data, backup := filepath.Join(c.Dir, "etcd"), filepath.Join(t.TempDir(), "etcd")
	c.Kill()
	if err := os.CopyFS(backup, os.DirFS(data)); err != nil {
		t.Fatal(err)
	}
	c.Restart(t)
	return func() {
		t.Helper()
		c.Kill()
		if err := errors.Join(os.RemoveAll(data), os.CopyFS(data, os.DirFS(backup))); err != nil {
			t.Fatal(err)
		}
		c.Restart(t)
	}
}

// PutStored writes a key of etcd past the apiserver, which validates nothing then. value is in the
// apiserver's storage encoding.
func (c *ControlPlane) PutStored(ctx context.Context, key string, value []byte) error {
	return c.callEtcd(ctx, "Put", []byte(key), value)
}

// DeleteStored deletes a key of etcd past the apiserver.
func (c *ControlPlane) DeleteStored(ctx context.Context, key string) error {
	return c.callEtcd(ctx, "DeleteRange", []byte(key))
}

// etcdClient speaks gRPC, which is HTTP/2 without TLS here.
var etcdClient = sync.OnceValue(func() *http.Client {
	t := &http.Transport{Protocols: new(http.Protocols)}
	t.Protocols.SetUnencryptedHTTP2(true)
	return &http.Client{Transport: t}
})

// callEtcd calls a method of etcd's key-value service with a message whose fields 1, 2, … are bytes.
func (c *ControlPlane) callEtcd(ctx context.Context, method string, fields ...[]byte) error {
	address, err := os.ReadFile(filepath.Join(c.Dir, "etcd.url")) // changes with every start
	if err != nil {
		return err
	}
	frame := make([]byte, 5) // not compressed, and the length
	for i, f := range fields {
		frame = protowire.AppendBytes(protowire.AppendTag(frame, protowire.Number(i+1), protowire.BytesType), f)
	}
	binary.BigEndian.PutUint32(frame[1:], uint32(len(frame)-5))
	req, err := http.NewRequestWithContext(ctx, http.MethodPost, string(address)+"/etcdserverpb.KV/"+method, bytes.NewReader(frame))
	if err != nil {
		return err
	}
	req.Header.Set("Content-Type", "application/grpc")
	req.Header.Set("TE", "trailers")
	resp, err := etcdClient().Do(req)
	if err != nil {
		return err
	}
	defer resp.Body.Close()
	if _, err := io.Copy(io.Discard, resp.Body); err != nil {
		return err
	}
	status := resp.Trailer.Get("Grpc-Status")
	if status == "" { // a failed call may have no body
		status = resp.Header.Get("Grpc-Status")
	}
	if status != "0" {
		return fmt.Errorf("etcd: %s of %s: %s, gRPC status %q %s", method, fields[0], resp.Status, status, resp.Trailer.Get("Grpc-Message"))
	}
	return nil
}
