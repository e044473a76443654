package path

import "github.com/aws/smithy-go"

// stranger is an error with a code, and for each T a type of its own.
type stranger[T any] struct{ code string }

func (s *stranger[T]) Error() string                 { return s.code }
func (s *stranger[T]) ErrorCode() string             { return s.code }
func (s *stranger[T]) ErrorMessage() string          { return s.code }
func (s *stranger[T]) ErrorFault() smithy.ErrorFault { return smithy.FaultServer }

type pair[A, B any] struct {
	_ A
	_ B
}

// strangers are 512 errors of as many types. Their types are eight to the third
// power of types, so that nobody has to write them down.
func strangers() []error {
	return join(
		byTwo[[1]byte](), byTwo[[2]byte](), byTwo[[3]byte](), byTwo[[4]byte](),
		byTwo[[5]byte](), byTwo[[6]byte](), byTwo[[7]byte](), byTwo[[8]byte](),
	)
}

func byTwo[T any]() []error {
	return join(
		byThree[pair[T, int8]](), byThree[pair[T, int16]](), byThree[pair[T, int32]](), byThree[pair[T, int64]](),
		byThree[pair[T, uint8]](), byThree[pair[T, uint16]](), byThree[pair[T, uint32]](), byThree[pair[T, uint64]](),
	)
}

func byThree[T any]() []error {
	const code = "ThrottlingException"
	return []error{
		&stranger[pair[T, int8]]{code}, &stranger[pair[T, int16]]{code}, &stranger[pair[T, int32]]{code}, &stranger[pair[T, int64]]{code},
		&stranger[pair[T, uint8]]{code}, &stranger[pair[T, uint16]]{code}, &stranger[pair[T, uint32]]{code}, &stranger[pair[T, uint64]]{code},
	}
}

func join(parts ...[]error) []error {
	var all []error
	for _, part := range parts {
		all = append(all, part...)
	}
	return all
}
