package awsretry

import (
	"context"
	"fmt"
	"hash"
	"hash/crc32"
	"io"
	"strconv"

	"github.com/aws/smithy-go/middleware"
	smithyhttp "github.com/aws/smithy-go/transport/http"
)

// checksum makes a response whose body is not what DynamoDB summed up a failure
// of the attempt; the SDK's own check logs a warning and hands the body on.
type checksum struct{}

func (checksum) ID() string { return crcID }

func (checksum) HandleDeserialize(ctx context.Context, in middleware.DeserializeInput, next middleware.DeserializeHandler) (
	out middleware.DeserializeOutput, metadata middleware.Metadata, err error,
) {
	out, metadata, err = next.HandleDeserialize(ctx, in)
	x := exchangeOf(ctx)
	resp, ok := out.RawResponse.(*smithyhttp.Response)
	if err != nil || x == nil || !x.asked || !ok || resp.Response == nil || resp.Body == nil {
		return out, metadata, err
	}
	if sum, perr := strconv.ParseUint(resp.Header.Get("X-Amz-Crc32"), 10, 32); perr == nil {
		resp.Body = &summedBody{ReadCloser: resp.Body, hash: crc32.NewIEEE(), want: uint32(sum)}
	}
	return out, metadata, err
}

// addChecksum adds the check where the SDK makes its own: to DynamoDB's
// operations, unless the client has switched it off.
func addChecksum(stack *middleware.Stack) error {
	if _, there := stack.Deserialize.Get("DynamoDB:ResponseChecksumValidation"); !there {
		return nil
	}
	return stack.Deserialize.Add(checksum{}, middleware.After)
}

// summedBody is a body that fails at its end if its checksum is wrong.
type summedBody struct {
	io.ReadCloser
	hash hash.Hash32
	want uint32
}

func (b *summedBody) Read(p []byte) (int, error) {
	n, err := b.ReadCloser.Read(p)
	b.hash.Write(p[:n])
	if err == io.EOF && b.hash.Sum32() != b.want {
		return n, &checksumError{got: b.hash.Sum32(), want: b.want}
	}
	return n, err
}

// checksumError is a response that was damaged on its way: transient, as one
// that was cut short is.
type checksumError struct{ got, want uint32 }

func (e *checksumError) Error() string {
	return fmt.Sprintf("reprise/awsretry: the response's CRC-32 is %d, and its X-Amz-Crc32 header says %d", e.got, e.want)
}

// RetryableError makes it transient (R3.5).
func (*checksumError) RetryableError() bool { return true }
