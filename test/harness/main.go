package harness

import (
	"flag"
	"fmt"
	"os"
	"strconv"
	"testing"
)

// Main is the TestMain of a package whose tests wait for servers and compute
// little: up to parallel of them run at once, unless the caller of go test says
// otherwise. run starts what they share, and stops it; its error fails them.
func Main(m *testing.M, parallel int, run func(*testing.M) (int, error)) {
	flag.Parse()
	if f := flag.Lookup("test.parallel"); f.Value.String() == f.DefValue {
		if err := flag.Set(f.Name, strconv.Itoa(parallel)); err != nil {
			panic(err) // for a flag that is there
		}
	}
	code, err := run(m)
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		code = 1
	}
	os.Exit(code)
}
