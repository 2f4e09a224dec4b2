package main

import (
	"debug/elf"
	"fmt"
	"os"
)

// machines are the architectures of the image, by their Go names.
var machines = map[string]elf.Machine{"amd64": elf.EM_X86_64, "arm64": elf.EM_AARCH64}

// readStatic reads an ELF binary and reports an error if it is for another architecture or needs a dynamic
// loader, which the image lacks.
func readStatic(path, arch string) ([]byte, error) {
	want, ok := machines[arch]
	if !ok {
		return nil, fmt.Errorf("architecture %q is not supported; use amd64 or arm64", arch)
	}
	f, err := elf.Open(path)
	if err != nil {
		return nil, fmt.Errorf("%s: %w", path, err)
	}
	defer f.Close()
	if f.Machine != want {
		return nil, fmt.Errorf("%s is built for %v, not for %s", path, f.Machine, arch)
	}
	for _, p := range f.Progs {
		if p.Type == elf.PT_INTERP {
			return nil, fmt.Errorf("%s needs a dynamic loader; build it with CGO_ENABLED=0", path)
		}
	}
	return os.ReadFile(path)
}
