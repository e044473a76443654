package proxy

import (
	"net/textproto"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
)

// FuzzOfProxies asks for names as net/http's server has them: one that says who
// asked is never taken for another, however it is spelt.
func FuzzOfProxies(f *testing.F) {
	for _, name := range []string{"Forwarded", "X-Forwarded-For", "x_forwarded_host", "X-Real-IP", "X-Forwarded", "X-Forwarded-", "Content-Type", "F", ""} {
		f.Add(name)
	}
	f.Fuzz(func(t *testing.T, raw string) {
		token := func(r rune) bool {
			return r < 0x7f && r > ' ' && !strings.ContainsRune(`"(),/:;<=>?@[\]{}`, r)
		}
		if raw == "" || strings.ContainsFunc(raw, func(r rune) bool { return !token(r) }) {
			return // the server answers 400
		}
		plain := strings.ToLower(strings.ReplaceAll(raw, "_", "-"))
		want := plain == "forwarded" || plain == "x-real-ip" || strings.HasPrefix(plain, "x-forwarded-") && plain != "x-forwarded-"
		assert.Equal(t, want, ofProxies(textproto.CanonicalMIMEHeaderKey(raw)))
	})
}
