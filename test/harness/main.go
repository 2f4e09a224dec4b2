package harness

import (
	"errors"
	"flag"
	"fmt"
	"os"
	"strconv"
	"testing"
)

// Main is the TestMain of a package. run starts what the tests share, runs them, and stops it; its
// error fails the package. Up to parallel of the parallel tests, which mostly wait for servers, run
// at once, unless go test has the flag -parallel; 0 leaves that to go test.
func Main(m *testing.M, parallel int, run func(*testing.M) (int, error)) {
	flag.Parse()
	if f := flag.Lookup("test.parallel"); parallel > 0 && f.Value.String() == f.DefValue {
		if err := flag.Set(f.Name, strconv.Itoa(parallel)); err != nil {
			panic(err) // never, for an existing flag
		}
	}
	code, err := run(m)
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		code = 1
	}
	os.Exit(code)
}

// Share is the TestMain of a package whose tests share a control plane.
func Share(m *testing.M, c **ControlPlane, opts ...Options) {
	Main(m, 0, func(m *testing.M) (code int, err error) {
		if *c, err = StartMain(opts...); err != nil {
			return 1, err
		}
		defer func() { err = errors.Join(err, (*c).Stop()) }()
		return m.Run(), nil
	})
}
