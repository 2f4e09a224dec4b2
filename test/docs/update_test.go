package docs

import "flag"

var update = flag.Bool("update", false, "write the tables that come from the code into docs")
