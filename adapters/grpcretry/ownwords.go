package grpcretry

import (
	"regexp"

	"google.golang.org/grpc/metadata"
	"google.golang.org/grpc/status"
)

// ownWords are the whole messages with which grpc itself says RESOURCE_EXHAUSTED:
// of a message that is longer than this client sends or receives, and of a reset.
var ownWords = regexp.MustCompile(`\A(?:` +
	`trying to send message larger than max \(\d+ vs\. \d+\)|` +
	`grpc: received message larger than max(?: length allowed on current machine)? \(\d+ vs\. \d+\)|` +
	`grpc: message too large \(\d+ bytes\)|` +
	`grpc: message after decompression larger than max \(\d+ vs\. \d+\)|` +
	`grpc: received message after decompression larger than max \d+|` +
	`stream terminated by RST_STREAM with error code: [A-Z_]+)\z`)

// ofServer reports whether a RESOURCE_EXHAUSTED is a throttle of the server's and
// not this client's own. Metadata in the trailer, or with the status where there
// were no headers, only a server sends. A server that has sent headers, be it for
// grpc.SetHeader, and then a status alone leaves no such sign; nothing but its
// words tells grpc's own from it then. They can only keep a call from being sent
// again, and so nobody gains by writing them (R3.8). Without a stream, for which
// trailer is nil, no server was asked.
func ofServer(st *status.Status, trailer metadata.MD) bool {
	return len(trailer) > 0 || trailer != nil && !ownWords.MatchString(st.Message())
}
