package json

import (
	"encoding/binary"
	"errors"
	"fmt"
	"unicode/utf8"
)

// MaxDepth is how deep arrays and objects may nest at most. It is the limit
// of encoding/json and of the apiserver for JSON and CBOR.
const MaxDepth = 10000

// Limits bounds what Valid accepts. The zero value means the documented
// defaults.
type Limits struct {
	Size  int // bytes; 0 is unlimited, for callers that bounded their reading
	Depth int // nesting; 0, and anything above MaxDepth, is MaxDepth

	// LooseText accepts strings that are no UTF-8, as the apiserver does in
	// request bodies: it reads each offending byte as U+FFFD, and so does
	// this package. Without it they are ErrText.
	LooseText bool
}

var (
	// ErrDepth is returned when arrays and objects nest too deep.
	ErrDepth = errors.New("nested too deep")
	// ErrSize is returned when there are more bytes than allowed.
	ErrSize = errors.New("too large")
	// ErrText is returned when a string is not UTF-8.
	ErrText = errors.New("not UTF-8")
)

// Valid checks that b is one well-formed JSON value with nothing but space
// around it, within the limits. It runs in one pass and a fixed amount of
// memory. The error wraps ErrSyntax, ErrTruncated, ErrDepth, ErrSize or
// ErrText and names the offset.
func Valid(b []byte, limits Limits) error {
	if limits.Size > 0 && len(b) > limits.Size {
		return fmt.Errorf("%d bytes, limit is %d: %w", len(b), limits.Size, ErrSize)
	}
	if limits.Depth <= 0 || limits.Depth > MaxDepth {
		limits.Depth = MaxDepth
	}
	c := checker{b: b, limits: limits}
	c.run()
	return c.err
}

// checker is one run of Valid.
type checker struct {
	b      []byte
	limits Limits
	err    error

	depth int
	stack [(MaxDepth + 63) / 64]uint64 // a bit per level, set for objects
}

// run reads value after value; each round begins where one must begin. The
// loop is long because its states are its places: splitting it would turn
// them into variables.
func (c *checker) run() {
	b, i := c.b, skipSpace(c.b, 0)
	for {
		switch {
		case i >= len(b):
			c.fail(ErrTruncated, i)
			return
		case b[i] == '{' || b[i] == '[':
			object, shut := b[i] == '{', b[i]+2
			if !c.push(object, i) {
				return
			}
			if i = skipSpace(b, i+1); i < len(b) && b[i] == shut {
				break // empty: closed below
			}
			if object {
				if i = c.name(i); i < 0 {
					return
				}
			}
			continue
		case b[i] == '"':
			i = c.text(i)
		default:
			i = c.scalar(i)
		}
		if i < 0 {
			return
		}
		// A value, or what may close a container, ends before i. Close all
		// that end here and go on to the next value.
		for {
			i = skipSpace(b, i)
			if c.depth == 0 {
				if i < len(b) {
					c.fail(ErrSyntax, i)
				}
				return
			}
			if i >= len(b) {
				c.fail(ErrTruncated, i)
				return
			}
			object := c.inObject()
			if b[i] == '}' && object || b[i] == ']' && !object {
				c.depth--
				i++
				continue
			}
			if b[i] != ',' {
				c.fail(ErrSyntax, i)
				return
			}
			i = skipSpace(b, i+1)
			if object {
				if i = c.name(i); i < 0 {
					return
				}
			}
			break
		}
	}
}

func (c *checker) push(object bool, at int) bool {
	if c.depth >= c.limits.Depth {
		c.fail(ErrDepth, at)
		return false
	}
	bit := uint64(1) << (c.depth & 63)
	if object {
		c.stack[c.depth>>6] |= bit
	} else {
		c.stack[c.depth>>6] &^= bit
	}
	c.depth++
	return true
}

func (c *checker) inObject() bool {
	d := c.depth - 1
	return c.stack[d>>6]>>(d&63)&1 != 0
}

// fail records the first error and returns -1.
func (c *checker) fail(err error, i int) int {
	if c.err == nil {
		c.err = at(err, "JSON", i)
	}
	return -1
}

// name checks a member's name and colon and returns where its value begins.
func (c *checker) name(i int) int {
	if i >= len(c.b) {
		return c.fail(ErrTruncated, i)
	}
	if c.b[i] != '"' {
		return c.fail(ErrSyntax, i)
	}
	if i = c.text(i); i < 0 {
		return i
	}
	i = skipSpace(c.b, i)
	if i >= len(c.b) {
		return c.fail(ErrTruncated, i)
	}
	if c.b[i] != ':' {
		return c.fail(ErrSyntax, i)
	}
	return skipSpace(c.b, i+1)
}

// text checks the string at b[i] and returns the index after it.
func (c *checker) text(i int) int {
	b, wide := c.b, false
	start := i
	for i++; ; {
		// Eight bytes at once while all of them are ordinary ASCII.
		for i+8 <= len(b) {
			w := binary.LittleEndian.Uint64(b[i:])
			q, e := w^('"'*lowBits), w^('\\'*lowBits)
			if (w|(w-' '*lowBits)|(q-lowBits)|(e-lowBits))&highBits != 0 {
				break
			}
			i += 8
		}
		if i >= len(b) {
			return c.fail(ErrTruncated, i)
		}
		switch ch := b[i]; {
		case ch == '"':
			if wide && !c.limits.LooseText && !utf8.Valid(b[start:i]) {
				return c.fail(ErrText, start)
			}
			return i + 1
		case ch == '\\':
			if i = c.escape(i); i < 0 {
				return i
			}
		case ch < ' ':
			return c.fail(ErrSyntax, i)
		default:
			wide = wide || ch >= utf8.RuneSelf
			i++
		}
	}
}

// escape checks the escape at b[i] and returns the index after it.
func (c *checker) escape(i int) int {
	if i+1 >= len(c.b) {
		return c.fail(ErrTruncated, i)
	}
	switch c.b[i+1] {
	case '"', '\\', '/', 'b', 'f', 'n', 'r', 't':
		return i + 2
	case 'u':
		if hex4(c.b[i:]) >= 0 {
			return i + 6
		}
		if i+6 > len(c.b) {
			return c.fail(ErrTruncated, i)
		}
	}
	return c.fail(ErrSyntax, i)
}

// scalar checks the number or literal at b[i] and returns the index after it.
func (c *checker) scalar(i int) int {
	end := skipScalar(c.b, i)
	if end < 0 {
		return c.fail(ErrSyntax, i)
	}
	switch word := c.b[i:end]; word[0] {
	case 't', 'f', 'n':
		if s := string(word); s == "true" || s == "false" || s == "null" {
			return end
		}
	default:
		if validNumber(word) {
			return end
		}
	}
	if end == len(c.b) {
		return c.fail(ErrTruncated, end)
	}
	return c.fail(ErrSyntax, i)
}

// validNumber tells whether b is a number as JSON's grammar has it.
func validNumber(b []byte) bool {
	i := 0
	if b[0] == '-' {
		i++
	}
	whole := digits(b[i:])
	if whole == 0 || whole > 1 && b[i] == '0' {
		return false
	}
	i += whole
	if i < len(b) && b[i] == '.' {
		n := digits(b[i+1:])
		if n == 0 {
			return false
		}
		i += 1 + n
	}
	if i < len(b) && b[i]|0x20 == 'e' {
		i++
		if i < len(b) && (b[i] == '+' || b[i] == '-') {
			i++
		}
		n := digits(b[i:])
		if n == 0 {
			return false
		}
		i += n
	}
	return i == len(b)
}

// digits counts the decimal digits at the start of b.
func digits(b []byte) int {
	n := 0
	for n < len(b) && '0' <= b[n] && b[n] <= '9' {
		n++
	}
	return n
}
