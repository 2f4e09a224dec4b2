package connect

import (
	"context"
	"errors"
	"io"
	"net"
	"net/http"
	"net/netip"
	"slices"
	"strconv"
	"sync"
	"time"

	"github.com/elazarl/goproxy"
	"go.uber.org/zap"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"sluice/config"
	"sluice/proxy/connections"
	"sluice/proxy/message"
)

const (
	// dialTimeout is the time to resolve a destination and to connect to it.
	dialTimeout = 10 * time.Second
	// tunnelIdle is how long a tunnel stays open without a byte in either direction: longer than the
	// pings of common protocols are apart.
	tunnelIdle = 10 * time.Minute
	// halfClosedIdle is the same once one direction has ended.
	halfClosedIdle = 30 * time.Second
)

// tunnel returns the handler of connections to a destination that is not the API.
func (p *Proxy) tunnel(d config.Destination) func(*http.Request, net.Conn, *goproxy.ProxyCtx) {
	return func(r *http.Request, client net.Conn, _ *goproxy.ProxyCtx) {
		ctx, cancel := connections.WhileOpen(p.cut, client)
		defer cancel()
		target, err := p.open(ctx, d)
		if err != nil {
			if line := p.unopened.Check("tunnel not opened", d.String()); line != nil {
				line.Write(zap.Stringer("destination", d), zap.Error(err))
			}
			p.fail(r, client, decisionUnreachable, newRefusal(http.StatusBadGateway, metav1.StatusReasonServiceUnavailable,
				message.ProxyNowhere.Say()))
			return
		}
		if !accepted(client) {
			_ = target.Close()
			return
		}
		connections.Tunneled(client)
		p.options.Metrics.connections.WithLabelValues(decisionTunneled).Inc()
		p.options.Metrics.tunnels.Inc()
		defer p.options.Metrics.tunnels.Dec()
		p.join(client, target)
	}
}

var errOwnAddress = errors.New("the name resolves to no address but of this host or link")

// open connects to a destination. A name is resolved once, and only addresses that were checked are
// dialed: whoever answers for the name must not choose a service of this host, or the metadata service
// of a cloud.
func (p *Proxy) open(ctx context.Context, d config.Destination) (net.Conn, error) {
	ctx, cancel := context.WithTimeout(ctx, dialTimeout)
	defer cancel()
	var addresses []netip.Addr
	if ip, err := netip.ParseAddr(d.Host); err == nil {
		addresses = []netip.Addr{ip}
	} else if addresses, err = p.lookup(ctx, d.Host); err != nil {
		return nil, err
	} else if addresses = slices.DeleteFunc(addresses, ownAddress); len(addresses) == 0 {
		return nil, errOwnAddress
	}
	var failed error
	for _, ip := range addresses {
		conn, err := p.dial(ctx, "tcp", net.JoinHostPort(ip.String(), strconv.Itoa(int(d.Port))))
		if err == nil {
			return conn, nil
		}
		failed = errors.Join(failed, err)
	}
	return nil, failed
}

// metadataServices are addresses at which clouds tell a host its credentials, besides the usual one, which
// is of the link: of AWS and Google by IPv6, of Azure, Alibaba and Oracle.
var metadataServices = []netip.Addr{
	netip.MustParseAddr("fd00:ec2::254"), netip.MustParseAddr("fd20:ce::254"),
	netip.MustParseAddr("168.63.129.16"), netip.MustParseAddr("100.100.100.200"), netip.MustParseAddr("192.0.0.192"),
}

// translated is the prefix of IPv6 addresses that stand for an IPv4 address (RFC 6052).
var translated = netip.MustParsePrefix("64:ff9b::/96")

// ownAddress reports whether an address is of this host or link, or of a metadata service.
func ownAddress(ip netip.Addr) bool {
	ip = ip.Unmap()
	if translated.Contains(ip) {
		bytes := ip.As16()
		ip = netip.AddrFrom4([4]byte(bytes[12:]))
	}
	if !ip.IsGlobalUnicast() || ip.IsLoopback() || slices.Contains(metadataServices, ip) {
		return true
	}
	own, err := net.InterfaceAddrs()
	return err != nil || slices.ContainsFunc(own, func(a net.Addr) bool {
		n, ok := a.(*net.IPNet)
		return ok && n.IP.Equal(ip.AsSlice())
	})
}

// join copies between two connections until both directions have ended, the tunnel is idle, or it is
// cut, and closes them.
func (p *Proxy) join(client, target net.Conn) {
	end := func() {
		_ = client.Close()
		_ = target.Close()
	}
	idle := time.AfterFunc(tunnelIdle, end)
	defer idle.Stop()
	defer context.AfterFunc(p.cut, end)()
	defer end()
	var both sync.WaitGroup
	forward := func(to, from net.Conn) {
		if _, err := io.Copy(to, active{from, idle}); err != nil {
			end()
		}
		closeWrite(to)
		idle.Reset(halfClosedIdle)
	}
	both.Go(func() { forward(target, client) })
	both.Go(func() { forward(client, target) })
	both.Wait()
}

// active restarts the idle timer with each read.
type active struct {
	io.Reader
	idle *time.Timer
}

// Read implements io.Reader.
func (a active) Read(p []byte) (int, error) {
	n, err := a.Reader.Read(p)
	if n > 0 {
		a.idle.Reset(tunnelIdle)
	}
	return n, err
}
