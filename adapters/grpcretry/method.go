package grpcretry

import (
	"fmt"
	"strings"
	"sync"

	"google.golang.org/protobuf/reflect/protoreflect"
	"google.golang.org/protobuf/reflect/protoregistry"
	"google.golang.org/protobuf/types/descriptorpb"
)

// idempotent reports whether a call may be sent twice.
func (i *Interceptor) idempotent(method string, m marks) bool {
	if i.anyMethod || m&idempotentCall != 0 {
		return true
	}
	if i.methods != nil && (i.methods[method] || i.methods[method[:strings.LastIndexByte(method, '/')+1]]) {
		return true
	}
	return i.declared.idempotent(method)
}

// declarations are the methods of the program's .proto files and whether their
// idempotency_level lets them be sent twice. Only methods that were found are
// kept, so nobody can make it grow by inventing names.
type declarations struct{ known sync.Map } // full method name: bool

func (d *declarations) idempotent(method string) bool {
	if known, ok := d.known.Load(method); ok {
		return known.(bool)
	}
	level, found := levelOf(method)
	may := level == descriptorpb.MethodOptions_NO_SIDE_EFFECTS || level == descriptorpb.MethodOptions_IDEMPOTENT
	if found {
		d.known.Store(method, may)
	}
	return may
}

// levelOf returns what the .proto file says of a method, if the program has it.
func levelOf(method string) (level descriptorpb.MethodOptions_IdempotencyLevel, found bool) {
	service, name, ok := splitMethod(method)
	if !ok {
		return 0, false
	}
	d, err := protoregistry.GlobalFiles.FindDescriptorByName(protoreflect.FullName(service))
	if err != nil {
		return 0, false
	}
	s, ok := d.(protoreflect.ServiceDescriptor)
	if !ok {
		return 0, false
	}
	md := s.Methods().ByName(protoreflect.Name(name))
	if md == nil {
		return 0, false
	}
	options, _ := md.Options().(*descriptorpb.MethodOptions)
	return options.GetIdempotencyLevel(), true
}

// notReplayableError is the failure of an attempt and the reason why it was the
// last.
type notReplayableError struct {
	err error // of the attempt
	why error
}

func (e *notReplayableError) Error() string   { return fmt.Sprintf("%v (%v)", e.err, e.why) }
func (e *notReplayableError) Unwrap() []error { return []error{e.err, e.why} }

type methodError struct{ method string }

func (e *methodError) Error() string {
	return fmt.Sprintf("reprise/grpcretry: %s is not known to be idempotent (WithIdempotent)", e.method)
}
