package fasthttpretry

import (
	"errors"
	"fmt"

	"github.com/valyala/fasthttp"
)

// checkBeneath refuses a client that sends again by itself: retries under
// retries multiply, and what they cost is nobody's to count. Only fasthttp's own
// types can be looked into.
func checkBeneath(client any) error {
	switch c := client.(type) {
	case nil:
		return errors.New("reprise/fasthttpretry: New needs a client to send with; this one is nil")
	case *Client:
		return errors.New("reprise/fasthttpretry: New is given a *fasthttpretry.Client: retries under retries multiply; want the client beneath it")
	case *fasthttp.Client:
		if c == nil {
			return errNilClient(client)
		}
		return checkAttempts(client, c.MaxIdemponentCallAttempts)
	case *fasthttp.HostClient:
		if c == nil {
			return errNilClient(client)
		}
		return checkAttempts(client, c.MaxIdemponentCallAttempts)
	case *fasthttp.PipelineClient:
		if c == nil {
			return errNilClient(client)
		}
	case *fasthttp.LBClient:
		if c == nil {
			return errNilClient(client)
		}
		if len(c.Clients) == 0 {
			return errors.New("reprise/fasthttpretry: New is given a *fasthttp.LBClient without Clients, which panics when it is used")
		}
		for i, balanced := range c.Clients {
			if err := checkBeneath(balanced); err != nil {
				return fmt.Errorf("%w (it is client %d of %d of the *fasthttp.LBClient)", err, i+1, len(c.Clients))
			}
		}
	}
	return nil
}

func errNilClient(client any) error {
	return fmt.Errorf("reprise/fasthttpretry: New needs a client to send with; this %T is nil", client)
}

func checkAttempts(client any, attempts int) error {
	if attempts == 1 {
		return nil
	}
	meaning := ""
	if attempts <= 0 {
		meaning = fmt.Sprintf(", which means %d", fasthttp.DefaultMaxIdemponentCallAttempts)
	}
	return fmt.Errorf("reprise/fasthttpretry: New is given a %T whose MaxIdemponentCallAttempts is %d%s: it would send again by itself, and retries under retries multiply; want 1", client, attempts, meaning)
}

// takesBody reports whether a client with a deadline may go on with a request's
// body when it has returned: fasthttp's PipelineClient does, and others may hold
// one.
func takesBody(client any) bool {
	switch client.(type) {
	case *fasthttp.Client, *fasthttp.HostClient:
		return false
	}
	return true
}
