package httpretry_test

import (
	"bytes"
	"errors"
	"io"
	"net/http"
	"strings"
	"syscall"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/reprise-go/reprise/adapters/httpretry"
	"github.com/reprise-go/reprise/engine"
)

const limit = 64 << 10

// Peer fault 122: a body above the limit is sent whole, but once, and says so.
func TestBodyLimit(t *testing.T) {
	for _, row := range []struct {
		name     string
		size     int
		declared bool // the length is in the request
		opts     []httpretry.Option
		attempts int
	}{
		{"empty", 0, false, nil, 3},
		{"one byte", 1, false, nil, 3},
		{"64 KiB", limit, false, nil, 3},
		{"64 KiB, declared", limit, true, nil, 3},
		{"64 KiB + 1", limit + 1, false, nil, 1},
		{"64 KiB + 1, declared", limit + 1, true, nil, 1},
		{"1 MiB", 1 << 20, false, nil, 1},
		{"1 MiB with a limit of 1 MiB", 1 << 20, false, []httpretry.Option{httpretry.WithBodyLimit(1 << 20)}, 3},
		{"nothing kept", 1, false, []httpretry.Option{httpretry.WithBodyLimit(0)}, 1},
		{"nothing kept, empty", 0, false, []httpretry.Option{httpretry.WithBodyLimit(0)}, 3},
	} {
		t.Run(row.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				text := strings.Repeat("0123456789abcdef", row.size/16+1)[:row.size]
				body := opaque(text)
				req := request(t, t.Context(), http.MethodPut, body)
				require.Nil(t, req.GetBody)
				if row.declared {
					req.ContentLength = int64(row.size)
				}
				e, b := newEngine(t), statuses(503)
				resp, err := newTransport(t, e, append(row.opts, httpretry.WithBase(b))...).RoundTrip(req)
				require.NoError(t, err)
				assert.Equal(t, 503, resp.StatusCode)
				require.Len(t, b.sent, row.attempts)
				for _, sent := range b.sent {
					assert.True(t, sent.body == text, "attempt sent %d of %d bytes", len(sent.body), row.size)
				}
				assert.Equal(t, 1, body.closed())
				assert.Same(t, io.ReadCloser(body), req.Body, "the caller's request is not modified")
				r, ok := httpretry.ResultOf(resp)
				require.True(t, ok)
				if row.attempts == 1 {
					assert.Equal(t, engine.ReasonNotReplayable, r.Reason)
					assert.ErrorContains(t, r.NotReplayable, "longer than")
					assert.Equal(t, 500, level(e), "no tokens are taken for a retry that cannot be")
				} else {
					assert.Equal(t, engine.ReasonMaxAttempts, r.Reason)
					assert.NoError(t, r.NotReplayable)
				}
			})
		})
	}
}

// The limit counts what was read, also by a base that answers before it has seen
// the end; and of a body that says that it is longer nothing is kept, however
// little was read.
func TestBodyLimitOfWhatWasRead(t *testing.T) {
	for _, row := range []struct {
		read     int
		declared int64 // 0: not
		attempts int
	}{
		{10, 0, 3},
		{limit + 1, 0, 1},
		{10, limit + 1, 1},
		{0, limit + 1, 3},
	} {
		synctest.Test(t, func(t *testing.T) {
			body := opaque(strings.Repeat("x", limit+1))
			req := request(t, t.Context(), http.MethodPut, body)
			if row.declared != 0 {
				req.ContentLength = row.declared
			}
			attempts := 0
			resp, err := newTransport(t, newEngine(t), httpretry.WithBase(roundTripper(func(req *http.Request) (*http.Response, error) {
				attempts++
				_, err := io.ReadFull(req.Body, make([]byte, row.read))
				require.NoError(t, err)
				return response(503, ""), req.Body.Close()
			}))).RoundTrip(req)
			require.NoError(t, err)
			assert.Equal(t, 503, resp.StatusCode)
			assert.Equal(t, row.attempts, attempts, "%+v", row)
			assert.Equal(t, 1, body.closed())
		})
	}
}

// A failure that is an error says why it was not retried, and is still there.
func TestBodyTooLongError(t *testing.T) {
	body := opaque(strings.Repeat("x", limit+1))
	e := newEngine(t)
	resp, err := newTransport(t, e, httpretry.WithBase(failing(syscall.ECONNRESET))).RoundTrip(request(t, t.Context(), http.MethodPut, body))
	require.Nil(t, resp)
	require.ErrorIs(t, err, syscall.ECONNRESET)
	require.ErrorIs(t, err, engine.ErrNotReplayable)
	require.ErrorContains(t, err, "longer than the 65536 bytes that are kept")
	assert.Equal(t, 500, level(e))
	assert.Equal(t, 1, body.closed())
}

// A body with GetBody is not copied: the base gets the caller's request itself.
func TestGetBody(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b := statuses(503)
		req := request(t, t.Context(), http.MethodPut, strings.NewReader("text"))
		made := 0
		getBody := req.GetBody
		req.GetBody = func() (io.ReadCloser, error) { made++; return getBody() }
		resp, err := newTransport(t, newEngine(t, engine.WithMaxAttempts(2)), httpretry.WithBase(b)).RoundTrip(req)
		require.NoError(t, err)
		assert.Equal(t, 503, resp.StatusCode)
		require.Len(t, b.sent, 2)
		assert.Equal(t, 1, made)
		assert.Same(t, req, b.sent[0].req)
		assert.NotSame(t, req, b.sent[1].req, "an attempt may still be busy with the first one")
		assert.Equal(t, "text", b.sent[0].body)
		assert.Equal(t, "text", b.sent[1].body)
	})
}

// Peer fault 115: replayability is found out before tokens are taken, and the
// failure of the rewind does not hide the response.
func TestGetBodyFails(t *testing.T) {
	lost := errors.New("the file is gone")
	for _, failure := range []error{nil, syscall.ECONNRESET} {
		b := statuses(503)
		if failure != nil {
			b = failing(failure)
		}
		req := request(t, t.Context(), http.MethodPut, strings.NewReader("text"))
		req.GetBody = func() (io.ReadCloser, error) { return nil, lost }
		e := newEngine(t)
		resp, err := newTransport(t, e, httpretry.WithBase(b)).RoundTrip(req)
		if failure == nil {
			require.NoError(t, err)
			assert.Equal(t, 503, resp.StatusCode)
			r, _ := httpretry.ResultOf(resp)
			assert.Equal(t, engine.ReasonNotReplayable, r.Reason)
			assert.ErrorIs(t, r.NotReplayable, lost)
		} else {
			assert.ErrorIs(t, err, failure)
			assert.ErrorIs(t, err, lost)
			assert.ErrorIs(t, err, engine.ErrNotReplayable)
		}
		assert.Equal(t, 500, level(e))
		assert.Len(t, b.sent, 1)
	}
}

// A GetBody that returns neither a body nor an error leaves only the body that was
// sent already: to send that again would be to send nothing of it.
func TestGetBodyReturnsNothing(t *testing.T) {
	req := request(t, t.Context(), http.MethodPut, strings.NewReader("text"))
	req.GetBody = func() (io.ReadCloser, error) { return nil, nil }
	e, b := newEngine(t), statuses(503, 200)
	resp, err := newTransport(t, e, httpretry.WithBase(b)).RoundTrip(req)
	require.NoError(t, err)
	assert.Equal(t, 503, resp.StatusCode)
	r, _ := httpretry.ResultOf(resp)
	assert.Equal(t, engine.ReasonNotReplayable, r.Reason)
	assert.EqualError(t, r.NotReplayable, "reprise/httpretry: the request's GetBody failed: it returned neither a body nor an error")
	assert.Equal(t, 500, level(e))
	assert.Len(t, b.sent, 1)
}

// A body that GetBody made for a retry that is then refused is closed.
func TestGetBodyOfARefusedRetry(t *testing.T) {
	spare := opaque("text")
	req := request(t, t.Context(), http.MethodPut, strings.NewReader("text"))
	req.GetBody = func() (io.ReadCloser, error) { return spare, nil }
	_, err := newTransport(t, newEngine(t, engine.WithTokens(0)), httpretry.WithBase(statuses(503))).RoundTrip(req)
	require.NoError(t, err)
	assert.Equal(t, 1, spare.closed())
}

// A body that cannot be read is the caller's fault and not the server's, even
// where its error looks like a server's.
func TestBodyFails(t *testing.T) {
	for _, size := range []int{0, 4, 2 * limit} {
		body := &trackedBody{Reader: io.MultiReader(strings.NewReader(strings.Repeat("x", size)), failingReader{io.ErrUnexpectedEOF})}
		e, b := newEngine(t), statuses(200)
		_, err := newTransport(t, e, httpretry.WithBase(b)).RoundTrip(request(t, t.Context(), http.MethodPut, body))
		require.ErrorIs(t, err, io.ErrUnexpectedEOF)
		require.ErrorIs(t, err, engine.ErrNotReplayable)
		assert.ErrorContains(t, err, "the request body could not be read")
		assert.Empty(t, b.sent)
		assert.Equal(t, 500, level(e))
		assert.Equal(t, 1, body.closed())
	}
}

type failingReader struct{ err error }

func (r failingReader) Read([]byte) (int, error) { return 0, r.err }

// What was never begun can be sent again, however long it is.
func TestLongBodyNotBegun(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		text := strings.Repeat("x", 1<<20)
		body := opaque(text)
		b := statuses(200)
		first := true
		resp, err := newTransport(t, newEngine(t), httpretry.WithBase(roundTripper(func(req *http.Request) (*http.Response, error) {
			if first {
				first = false
				_ = req.Body.Close()
				return nil, dialRefused
			}
			return b.RoundTrip(req)
		}))).RoundTrip(request(t, t.Context(), http.MethodPost, body))
		require.NoError(t, err)
		assert.Equal(t, 200, resp.StatusCode)
		require.Len(t, b.sent, 1)
		assert.True(t, b.sent[0].body == text)
		assert.Equal(t, 1, body.closed())
	})
}

// A base that answers before it has read the body, and reads on afterwards, as
// net/http does: the next attempt has the whole body, and the two do not mix.
func TestBaseReadsOn(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		in, out := io.Pipe()
		var stale io.ReadCloser
		b := statuses(200)
		e := newEngine(t)
		transport := newTransport(t, e, httpretry.WithBase(roundTripper(func(req *http.Request) (*http.Response, error) {
			if stale == nil {
				stale = req.Body
				go func() { _, _ = out.Write([]byte("first ")) }()
				_, err := io.ReadFull(stale, make([]byte, 6))
				assert.NoError(t, err)
				go func() { // waits for the source until the next write
					text, err := io.ReadAll(stale)
					assert.ErrorContains(t, err, "the next attempt's by now")
					assert.Empty(t, text)
					_ = stale.Close()
				}()
				synctest.Wait()
				return response(503, ""), nil
			}
			go func() {
				_, _ = out.Write([]byte("second "))
				_, _ = out.Write([]byte("third"))
				_ = out.Close()
			}()
			return b.RoundTrip(req)
		})))
		req := request(t, t.Context(), http.MethodPut, in)
		resp, err := transport.RoundTrip(req)
		require.NoError(t, err)
		assert.Equal(t, 200, resp.StatusCode)
		assert.Equal(t, "first second third", b.sent[0].body)
		_, err = in.Read(make([]byte, 1))
		assert.ErrorIs(t, err, io.ErrClosedPipe, "the source is closed")
	})
}

// A refused retry leaves the attempt that is still sending alone, and its body
// is closed when the base closes it.
func TestBaseReadsOnAfterTheEnd(t *testing.T) {
	text := strings.Repeat("x", 3*limit)
	body := opaque(text)
	var attempt io.ReadCloser
	var read []byte
	resp, err := newTransport(t, newEngine(t, engine.WithTokens(0)), httpretry.WithBase(roundTripper(func(req *http.Request) (*http.Response, error) {
		attempt = req.Body
		read = make([]byte, 1000)
		_, err := io.ReadFull(attempt, read)
		return response(503, ""), err
	}))).RoundTrip(request(t, t.Context(), http.MethodPut, body))
	require.NoError(t, err)
	assert.Equal(t, 503, resp.StatusCode)
	assert.Zero(t, body.closed())
	rest, err := io.ReadAll(attempt)
	require.NoError(t, err)
	assert.True(t, string(read)+string(rest) == text, "all of it was sent")
	require.NoError(t, attempt.Close())
	require.NoError(t, attempt.Close())
	assert.Equal(t, 1, body.closed())
}

// A granted retry owns the body from then on: what the last attempt would read
// during the delay could be too much to keep.
func TestBaseReadsOnDuringTheDelay(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		text := strings.Repeat("x", 3*limit)
		b := statuses(200)
		first := true
		resp, err := newTransport(t, newEngine(t), httpretry.WithBase(roundTripper(func(req *http.Request) (*http.Response, error) {
			if !first {
				return b.RoundTrip(req)
			}
			first = false
			_, err := io.ReadFull(req.Body, make([]byte, 1000))
			time.AfterFunc(ms, func() {
				n, err := io.Copy(io.Discard, req.Body)
				assert.LessOrEqual(t, n, int64(limit), "no more than was read before")
				assert.ErrorContains(t, err, "the next attempt's by now")
				_, err = req.GetBody()
				assert.ErrorContains(t, err, "the next attempt's by now", "it cannot begin anew either")
			})
			return response(503, ""), err
		}))).RoundTrip(request(t, t.Context(), http.MethodPut, opaque(text)))
		require.NoError(t, err)
		assert.Equal(t, 200, resp.StatusCode)
		assert.True(t, b.sent[0].body == text)
	})
}

// Bases wait for their reads to end, so closing an attempt's body ends its Read
// at once, though the source gives nothing; that, the next attempt still has.
func TestCloseEndsRead(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		in, out := io.Pipe()
		b := statuses(200)
		attempts := 0
		resp, err := newTransport(t, newEngine(t), httpretry.WithBase(roundTripper(func(req *http.Request) (*http.Response, error) {
			if attempts++; attempts == 3 {
				go func() {
					_, _ = io.WriteString(out, "text")
					_ = out.Close()
				}()
				return b.RoundTrip(req)
			}
			ended := make(chan error)
			go func() {
				_, err := req.Body.Read(make([]byte, 1))
				ended <- err
			}()
			synctest.Wait() // for the Read to wait
			require.NoError(t, req.Body.Close())
			require.ErrorContains(t, <-ended, "is closed")
			return nil, io.ErrUnexpectedEOF
		}))).RoundTrip(request(t, t.Context(), http.MethodPut, in))
		require.NoError(t, err)
		assert.Equal(t, 200, resp.StatusCode)
		assert.Equal(t, "text", b.sent[0].body)
	})
}

// Of a body that is too long to be kept, Close closes the source, as it would
// without us.
func TestCloseEndsReadOfALongBody(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		in, out := io.Pipe()
		defer out.Close()
		req := request(t, t.Context(), http.MethodPut, in)
		req.ContentLength = 1 << 20
		_, err := newTransport(t, newEngine(t), httpretry.WithBase(roundTripper(func(req *http.Request) (*http.Response, error) {
			ended := make(chan error)
			go func() {
				_, err := req.Body.Read(make([]byte, 1))
				ended <- err
			}()
			synctest.Wait()
			require.NoError(t, req.Body.Close())
			require.ErrorIs(t, <-ended, io.ErrClosedPipe)
			return nil, io.ErrUnexpectedEOF
		}))).RoundTrip(req)
		require.ErrorIs(t, err, engine.ErrNotReplayable)
	})
}

// A late Close of an attempt that is long over closes nothing, even after the
// last answer, while the base still sends the last attempt's body.
func TestLateClose(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		body := opaque("text")
		var attempts []io.ReadCloser
		_, err := newTransport(t, newEngine(t), httpretry.WithBase(roundTripper(func(req *http.Request) (*http.Response, error) {
			attempts = append(attempts, req.Body)
			return response([]int{503, 200}[len(attempts)-1], ""), nil
		}))).RoundTrip(request(t, t.Context(), http.MethodPut, body))
		require.NoError(t, err)
		require.NoError(t, attempts[0].Close())
		assert.Zero(t, body.closed())
		text, err := io.ReadAll(attempts[1])
		require.NoError(t, err)
		assert.Equal(t, "text", string(text))
		require.NoError(t, attempts[1].Close())
		assert.Equal(t, 1, body.closed())
	})
}

// A base that fails and forgets the body: it is closed all the same.
func TestBaseForgetsTheBody(t *testing.T) {
	body := opaque("text")
	_, err := newTransport(t, newEngine(t), httpretry.WithBase(roundTripper(func(req *http.Request) (*http.Response, error) {
		return nil, errors.New("odd")
	}))).RoundTrip(request(t, t.Context(), http.MethodPut, body))
	require.EqualError(t, err, "odd")
	assert.Equal(t, 1, body.closed())
}

// Of a body that says that it is too long nothing is kept, so it cannot be sent
// again once it was begun.
func TestDeclaredLongBodyBegun(t *testing.T) {
	req := request(t, t.Context(), http.MethodPut, opaque(strings.Repeat("x", 1<<20)))
	req.ContentLength = 1 << 20
	resp, err := newTransport(t, newEngine(t), httpretry.WithBase(roundTripper(func(req *http.Request) (*http.Response, error) {
		_, err := io.ReadFull(req.Body, make([]byte, 10))
		_ = req.Body.Close()
		return response(503, ""), err
	}))).RoundTrip(req)
	require.NoError(t, err)
	r, _ := httpretry.ResultOf(resp)
	assert.Equal(t, engine.ReasonNotReplayable, r.Reason)
}

// A source is not asked again after its end.
func TestSourceEndsOnce(t *testing.T) {
	ends := 0
	body := io.NopCloser(readerFunc(func(p []byte) (int, error) {
		ends++
		return copy(p, "text"), io.EOF
	}))
	b := statuses(503)
	_, err := newTransport(t, newEngine(t, engine.WithClock(noSleep{})), httpretry.WithBase(b)).RoundTrip(request(t, t.Context(), http.MethodPut, body))
	require.NoError(t, err)
	assert.Equal(t, "text", b.sent[2].body)
	assert.Equal(t, 1, ends)
}

// The attempt's own GetBody, which net/http's transport uses when a connection
// turns out to be dead, starts again from the beginning, and the closing of what
// came before does not close the source.
func TestAttemptGetBody(t *testing.T) {
	body := opaque("some text")
	resp, err := newTransport(t, newEngine(t), httpretry.WithBase(roundTripper(func(req *http.Request) (*http.Response, error) {
		_, err := io.ReadFull(req.Body, make([]byte, 4))
		require.NoError(t, err)
		again, err := req.GetBody()
		require.NoError(t, err)
		require.NoError(t, req.Body.Close())
		_, err = req.Body.Read(make([]byte, 1))
		assert.ErrorContains(t, err, "is closed")
		text, err := io.ReadAll(again)
		require.NoError(t, err)
		assert.Equal(t, "some text", string(text))
		return response(200, ""), again.Close()
	}))).RoundTrip(request(t, t.Context(), http.MethodPost, body))
	require.NoError(t, err)
	assert.Equal(t, 200, resp.StatusCode)
	assert.Equal(t, 1, body.closed())
}

// An attempt that is over gets no body, least of all the next one's.
func TestLateGetBody(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var late []func() (io.ReadCloser, error)
		refused := func(i int) {
			body, err := late[i]()
			assert.Nil(t, body)
			assert.ErrorContains(t, err, "the next attempt's by now")
		}
		resp, err := newTransport(t, newEngine(t), httpretry.WithBase(roundTripper(func(req *http.Request) (*http.Response, error) {
			late = append(late, req.GetBody)
			if len(late) == 1 {
				time.AfterFunc(ms, func() { refused(0) }) // in the delay
				return response(503, ""), req.Body.Close()
			}
			refused(0)
			text, err := io.ReadAll(req.Body)
			assert.Equal(t, "text", string(text))
			return response(200, ""), errors.Join(err, req.Body.Close())
		}))).RoundTrip(request(t, t.Context(), http.MethodPut, opaque("text")))
		require.NoError(t, err)
		assert.Equal(t, 200, resp.StatusCode)
		refused(1)
	})
}

// An attempt that has closed its body gets nothing more out of it.
func TestClosedBodyIsNotRead(t *testing.T) {
	resp, err := newTransport(t, newEngine(t), httpretry.WithBase(roundTripper(func(req *http.Request) (*http.Response, error) {
		_, err := io.ReadFull(req.Body, make([]byte, 4))
		require.NoError(t, err)
		require.NoError(t, req.Body.Close())
		n, err := req.Body.Read(make([]byte, 1))
		assert.Zero(t, n)
		assert.ErrorContains(t, err, "is closed")
		return response(200, ""), nil
	}))).RoundTrip(request(t, t.Context(), http.MethodPut, opaque("some text")))
	require.NoError(t, err)
	assert.Equal(t, 200, resp.StatusCode)
}

// Attempts that read any number of bytes each, in pieces of any size, all see
// one and the same body.
func FuzzKeptBody(f *testing.F) {
	f.Add([]byte("0123456789"), []byte{3, 1, 200, 4}, 6)
	f.Add(bytes.Repeat([]byte("ab"), 300), []byte{255, 255, 7}, 1000)
	f.Add([]byte{}, []byte{0}, 0)
	f.Fuzz(func(t *testing.T, text, reads []byte, keep int) {
		keep = min(max(keep, 0), 4096)
		source := &trackedBody{Reader: &steppingReader{text: text}}
		e := newEngine(t, engine.WithClock(noSleep{}), engine.WithMaxAttempts(len(reads)+1))
		attempt, whole := 0, false
		resp, err := newTransport(t, e, httpretry.WithBodyLimit(keep), httpretry.WithBase(roundTripper(func(req *http.Request) (*http.Response, error) {
			defer req.Body.Close()
			if attempt++; attempt > len(reads) {
				got, err := io.ReadAll(req.Body)
				require.NoError(t, err)
				require.Equal(t, string(text), string(got))
				whole = true
				return response(200, ""), nil
			}
			got := make([]byte, int(reads[attempt-1])*4)
			n, _ := io.ReadFull(req.Body, got)
			require.Equal(t, string(text[:n]), string(got[:n]))
			return response(503, ""), nil
		}))).RoundTrip(request(t, t.Context(), http.MethodPut, source))
		require.NoError(t, err)
		require.Equal(t, 1, source.closed())
		if !whole {
			r, _ := httpretry.ResultOf(resp)
			require.Contains(t, []engine.Reason{engine.ReasonNotReplayable, engine.ReasonQuota}, r.Reason)
			require.True(t, r.Reason == engine.ReasonQuota || len(text) > keep)
		}
	})
}

// steppingReader gives 1, 2, 3 ... bytes at a time.
type steppingReader struct {
	text []byte
	step int
}

func (r *steppingReader) Read(p []byte) (int, error) {
	if len(r.text) == 0 {
		return 0, io.EOF
	}
	r.step++
	n := copy(p[:min(len(p), r.step)], r.text)
	r.text = r.text[n:]
	return n, nil
}
