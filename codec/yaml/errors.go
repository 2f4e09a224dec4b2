package yaml

import "errors"

// ErrDecode is returned for YAML that the apiserver refuses. The text of the error is that of its parser, as clients of the
// apiserver see it.
var ErrDecode = errors.New("cannot decode YAML")
