package classify

import (
	"context"
	"io"
	"net"
	"os"
	"reflect"
	"strings"
	"time"

	"github.com/reprise-go/reprise/internal/atomic"
)

// What an error may say of itself, and how it leads to the errors below it.
// Aliases, because an As method can only be asked for a type it can write down.
type (
	retryableError = interface{ RetryableError() bool }
	errorCoder     = interface{ ErrorCode() string }
	statusCoder    = interface{ HTTPStatusCode() int }
	timeouter      = interface{ Timeout() bool }
	retryAfterer   = interface{ RetryAfter() time.Duration }
	equaler        = interface{ Is(target error) bool }
	converter      = interface{ As(target any) bool }
	unwrapper      = interface{ Unwrap() error }
	multiUnwrapper = interface{ Unwrap() []error }
)

// traits is what is known of an error from its concrete type alone: a bit for
// each interface above, and a kind for types that cannot be named here, for
// their packages do not export them or would pull net/http in.
type traits uint32

const (
	saysRetryable traits = 1 << iota
	saysCode
	saysStatus
	saysTimeout
	saysRetryAfter
	hasIs
	hasAs
	hasUnwrap
	hasMultiUnwrap
	mayBeNil       // a pointer, map, func...: a nil one must not be asked
	mayBeSentinel  // has the type of io.EOF, that of errors.New
	traitsKnown    // set in every answer: a zero word is "not filled in yet"
	kindBit        // the kinds start here
	kindMask       = 15 * kindBit
	saysAnything   = saysRetryable | saysCode | saysStatus | saysTimeout | saysRetryAfter
	leadsElsewhere = hasIs | hasAs | hasUnwrap | hasMultiUnwrap
)

const (
	kindDeadline            = (iota + 1) * kindBit // context.DeadlineExceeded
	kindCancelled                                  // context.Canceled, should it get a type of its own
	kindIOTimeout                                  // os.ErrDeadlineExceeded
	kindNetClosed                                  // net.ErrClosed
	kindStreamError                                // HTTP/2 RST_STREAM
	kindConnectionError                            // HTTP/2 connection error
	kindGoAway                                     // HTTP/2 GOAWAY
	kindTLSAlert                                   // a TLS alert
	kindTLSHandshakeTimeout                        // a TLS handshake that took too long
)

// A failed interface assertion is the dearest step of a walk: up to 100 ns
// until the runtime's cache has seen the type, and the walk asks nine of them.
// So the answers for a type are kept, and from then on cost one look-up.
//
// A slot belongs to one type for ever; a type that finds its slots taken is
// examined anew each time, so memory is bounded whatever types turn up.
const (
	traitSlotBits = 9
	traitSlots    = 1 << traitSlotBits
	traitProbes   = 8
)

type traitSlot struct {
	// key is the address of the type's descriptor, 0 while the slot is free.
	// Invariant: changes once, from 0.
	// Writers:   whoever first meets the type; a lost CAS means that another
	//            type took the slot, or that another goroutine does this work.
	// Ordering:  publishes nothing: word says for itself whether it is filled.
	// Overflow:  nothing is added.
	key atomic.Uintptr
	// word is the type's traits, 0 until they are known.
	// Invariant: changes once, from 0 to a value with traitsKnown.
	// Writers:   the winner of key alone.
	// Ordering:  publishes nothing but itself.
	// Overflow:  nothing is added.
	word atomic.Uint32
}

var traitTable [traitSlots]traitSlot

// traitsOf returns the traits of err's type; err is not nil. Wait-free: it
// looks at no more than traitProbes slots and tries no CAS twice. What most
// types need of it is inlined.
func traitsOf(err error) traits {
	// A type descriptor with methods is never freed, so its address names it.
	key := reflect.ValueOf(reflect.TypeOf(err)).Pointer()
	slot := &traitTable[traitHome(key)%traitSlots]
	if slot.key.Load() == key {
		if t := traits(slot.word.Load()); t != 0 {
			return t
		}
	}
	return traitsElsewhere(err, key)
}

func traitHome(key uintptr) uint32 {
	return uint32(key>>4) * 0x9E3779B1 >> (32 - traitSlotBits)
}

// traitsElsewhere is traitsOf for a type that has no slot yet, or another than
// its first.
//
//go:noinline
func traitsElsewhere(err error, key uintptr) traits {
	typ, home := reflect.TypeOf(err), traitHome(key)
	for i := range uint32(traitProbes) {
		slot := &traitTable[(home+i)%traitSlots]
		switch slot.key.Load() {
		case key:
			if t := traits(slot.word.Load()); t != 0 {
				return t
			}
			return examineType(typ, err)
		case 0:
			if t := examineType(typ, err); slot.key.CompareAndSwap(0, key) {
				slot.word.Store(uint32(t))
				return t
			} else if slot.key.Load() == key {
				return t
			}
		}
	}
	return examineType(typ, err)
}

// examineType finds out a type's traits. It calls no method of err.
func examineType(typ reflect.Type, err error) traits {
	t := traitsKnown | kindOf(typ)
	if _, ok := err.(retryableError); ok {
		t |= saysRetryable
	}
	if _, ok := err.(errorCoder); ok {
		t |= saysCode
	}
	if _, ok := err.(statusCoder); ok {
		t |= saysStatus
	}
	if _, ok := err.(timeouter); ok {
		t |= saysTimeout
	}
	if _, ok := err.(retryAfterer); ok {
		t |= saysRetryAfter
	}
	if _, ok := err.(equaler); ok {
		t |= hasIs
	}
	if _, ok := err.(converter); ok && !asRepeatsUnwrap(typ) {
		t |= hasAs
	}
	switch err.(type) {
	case unwrapper:
		t |= hasUnwrap
	case multiUnwrapper:
		t |= hasMultiUnwrap
	}
	switch typ.Kind() {
	case reflect.Pointer, reflect.Map, reflect.Slice, reflect.Func, reflect.Chan:
		t |= mayBeNil
	}
	return t
}

// asRepeatsUnwrap recognises the errors around every answer of an AWS service.
// They embed the error that has their status and their Unwrap, and their As
// hands the question on to it: a walk learns nothing from it that Unwrap does not
// lead to, and seven questions through package errors cost it most of a
// microsecond, on the one error that clients of AWS classify most.
func asRepeatsUnwrap(typ reflect.Type) bool {
	if typ.Kind() != reflect.Pointer || typ.Elem().Kind() != reflect.Struct {
		return false
	}
	outer := typ.Elem()
	if !isAnswerError(outer.PkgPath(), outer.Name()) || outer.NumField() == 0 {
		return false
	}
	inner := outer.Field(0)
	if !inner.Anonymous || inner.Type.Kind() != reflect.Pointer {
		return false
	}
	embedded := inner.Type.Elem()
	return embedded.Name() == "ResponseError" && embedded.PkgPath() == "github.com/aws/smithy-go/transport/http" ||
		asRepeatsUnwrap(inner.Type)
}

// isAnswerError knows the SDK's own answer and the one that S3 puts around it.
func isAnswerError(path, name string) bool {
	return name == "ResponseError" &&
		(path == "github.com/aws/aws-sdk-go-v2/aws/transport/http" ||
			path == "github.com/aws/aws-sdk-go-v2/service/internal/s3shared")
}

var (
	sentinelType  = reflect.TypeOf(io.EOF)
	cancelledType = reflect.TypeOf(context.Canceled)
	deadlineType  = reflect.TypeOf(context.DeadlineExceeded)
	ioTimeoutType = reflect.TypeOf(os.ErrDeadlineExceeded)
	netClosedType = reflect.TypeOf(net.ErrClosed)
)

// kindOf recognises a type by itself or by its name and package path. Neither
// is in reach of a server, and a package path is nobody's to take.
func kindOf(typ reflect.Type) traits {
	switch typ {
	case sentinelType:
		return mayBeSentinel
	case cancelledType:
		return kindCancelled
	case deadlineType:
		return kindDeadline
	case ioTimeoutType:
		return kindIOTimeout
	case netClosedType:
		return kindNetClosed
	}
	kind := kindOfName(typ.PkgPath(), typ.Name())
	if kind == kindStreamError && !hasStreamErrorShape(typ) {
		return 0
	}
	return kind
}

// kindOfName knows HTTP/2 by the names that net/http gives its bundled copy
// and by those of the package the copy is made from, wherever that is vendored.
func kindOfName(path, name string) traits {
	switch path {
	case "crypto/tls":
		switch name {
		case "alert":
			return kindTLSAlert
		case "timeoutError":
			return kindTLSHandshakeTimeout
		}
		return 0
	case "net/http":
		if name == "tlsHandshakeTimeoutError" {
			return kindTLSHandshakeTimeout
		}
		bundled, ok := strings.CutPrefix(name, "http2")
		if !ok {
			return 0
		}
		name = bundled
	case "net/http/internal/http2", "golang.org/x/net/http2":
	default:
		if !strings.HasSuffix(path, "/vendor/golang.org/x/net/http2") {
			return 0
		}
	}
	switch name {
	case "StreamError":
		return kindStreamError
	case "ConnectionError":
		return kindConnectionError
	case "GoAwayError":
		return kindGoAway
	}
	return 0
}

// streamCodeField is the place of Code in a stream error.
const streamCodeField = 1

func hasStreamErrorShape(typ reflect.Type) bool {
	if typ.Kind() != reflect.Struct || typ.NumField() <= streamCodeField {
		return false
	}
	f := typ.Field(streamCodeField)
	return f.Name == "Code" && f.Type.Kind() == reflect.Uint32
}

// streamCode returns the error code of a stream error (RFC 9113, section 7).
func streamCode(err error) uint64 {
	return reflect.ValueOf(err).Field(streamCodeField).Uint()
}
