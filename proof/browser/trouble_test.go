package browser_test

import (
	"fmt"
	"os"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// What the pages are looked at for is seen where it is.
func TestTroubleIsSeen(t *testing.T) {
	file := filepath.Join(t.TempDir(), "bad.html")
	require.NoError(t, os.WriteFile(file, []byte(`<!DOCTYPE html><meta name="viewport" content="width=device-width, initial-scale=1">
<link rel="icon" href="data:,"><body><div style="width:800px">wide</div><img src="missing.png">
<figure id="empty"><svg class="wide" width="200" height="100"><text>x</text></svg></figure>
<script>throw new Error("thrown")</script>`), 0o600))
	phone := screens[0]
	b := open(browse(t), t, file, phone)
	assert.Greater(t, eval[int](b, "document.documentElement.scrollWidth"), int(phone.width))
	assert.NotEmpty(t, eval[[]string](b, fmt.Sprintf(beyondScript, phone.width)))
	figures := eval[[]figure](b, figuresScript)
	require.Len(t, figures, 1)
	assert.Less(t, count(b.picture("bad"), figures[0].bounds(), ink), int(figures[0].Width), "no chart")
	var seen string
	for _, s := range b.trouble() {
		seen += s + "\n"
	}
	assert.Contains(t, seen, "Uncaught")
	assert.Contains(t, seen, "missing.png")
}
