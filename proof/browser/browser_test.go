package browser_test

import (
	"bytes"
	"context"
	"fmt"
	"image"
	"image/png"
	"net/url"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/chromedp/cdproto/cdp"
	"github.com/chromedp/cdproto/emulation"
	"github.com/chromedp/cdproto/log"
	"github.com/chromedp/cdproto/network"
	"github.com/chromedp/cdproto/page"
	"github.com/chromedp/cdproto/runtime"
	"github.com/chromedp/chromedp"
	"github.com/stretchr/testify/require"
)

// patience bounds a browser's whole life.
const patience = 4 * time.Minute

// browse starts Chromium with a profile of its own, without network but for the
// pages that it is given; it ends with the test.
func browse(t *testing.T) context.Context {
	t.Helper()
	path, err := exec.LookPath("chromium")
	require.NoError(t, err, "make servers installs it (on Debian, as root)")
	options := []chromedp.ExecAllocatorOption{
		chromedp.ExecPath(path), chromedp.UserDataDir(t.TempDir()), chromedp.NoFirstRun, chromedp.NoDefaultBrowserCheck,
		chromedp.Headless, chromedp.NoSandbox, chromedp.DisableGPU,
		chromedp.Flag("disable-quic", true), chromedp.Flag("disable-background-networking", true),
		chromedp.Flag("disable-component-update", true), chromedp.Flag("disable-sync", true),
		chromedp.WSURLReadTimeout(patience),
	}
	ctx, cancel := context.WithTimeout(context.Background(), patience)
	t.Cleanup(cancel)
	ctx, cancel = chromedp.NewExecAllocator(ctx, options...)
	t.Cleanup(cancel)
	ctx, cancel = chromedp.NewContext(ctx)
	t.Cleanup(cancel)
	require.NoError(t, chromedp.Do(ctx))
	return ctx
}

// screen is what a page is looked at on.
type screen struct {
	name   string
	width  int64
	mobile bool
	media  string // "print" is paper: the width is that between its margins
}

var screens = []screen{
	{name: "phone", width: 390, mobile: true},
	{name: "desk", width: 1280},
	{name: "paper", width: 703, media: "print"}, // A4 with 12 mm
}

// tab is an open page.
type tab struct {
	context.Context
	t *testing.T

	mu       sync.Mutex
	said     []string // errors on the console
	fetched  []string // requests for anything but the page itself
	heard    int      // requests
	pageName string
}

// open opens a file in a new tab.
func open(ctx context.Context, t *testing.T, file string, s screen) *tab {
	t.Helper()
	ctx, cancel := chromedp.NewContext(ctx)
	t.Cleanup(cancel)
	b := &tab{Context: ctx, t: t, pageName: (&url.URL{Scheme: "file", Path: file}).String()}
	require.NoError(t, chromedp.Do(ctx))
	require.NoError(t, chromedp.Listen(ctx, b.hear))
	call(b, network.Enable, network.EnableParams{})
	call(b, log.Enable, cdp.Empty{})
	call(b, emulation.SetDeviceMetricsOverride, emulation.SetDeviceMetricsOverrideParams{Width: s.width, Height: 900, DeviceScaleFactor: 1, Mobile: s.mobile})
	call(b, emulation.SetEmulatedMedia, emulation.SetEmulatedMediaParams{Media: s.media})
	require.NoError(t, chromedp.Do(ctx, chromedp.Navigate(b.pageName)))
	return b
}

func (b *tab) hear(event any) {
	b.mu.Lock()
	defer b.mu.Unlock()
	switch e := event.(type) {
	case *runtime.EventExceptionThrown:
		b.said = append(b.said, e.ExceptionDetails.Text)
	case *runtime.EventConsoleAPICalled:
		b.said = append(b.said, fmt.Sprint(e.Type, " ", len(e.Args)))
	case *log.EventEntryAdded:
		b.said = append(b.said, fmt.Sprint(e.Entry.Level, " ", e.Entry.Text))
	case *network.EventRequestWillBeSent:
		if e.Request.URL != b.pageName && !strings.HasPrefix(e.Request.URL, "data:") {
			b.fetched = append(b.fetched, e.Request.URL)
		}
		b.heard++
	}
}

// call sends the tab a command.
func call[P, R any](b *tab, command cdp.Command[P, R], params P) (result R) {
	b.t.Helper()
	result, err := chromedp.Run(b, func(ctx context.Context, t *chromedp.Target) (R, error) {
		return cdp.Call(ctx, t, command, params)
	})
	require.NoError(b.t, err)
	return result
}

// eval returns what an expression in JavaScript is.
func eval[T any](b *tab, expression string) T {
	b.t.Helper()
	value, err := chromedp.Run(b, chromedp.Evaluate[T](expression))
	require.NoError(b.t, err)
	return value
}

// trouble is what the page said on the console, and what it asked others for.
func (b *tab) trouble() []string {
	b.mu.Lock()
	defer b.mu.Unlock()
	require.Positive(b.t, b.heard, "requests are heard of")
	return append(b.said, b.fetched...)
}

// picture is the whole page. With the flag -pictures it is kept, too.
func (b *tab) picture(name string) *image.RGBA {
	b.t.Helper()
	text, err := chromedp.Run(b, func(ctx context.Context, t *chromedp.Target) ([]byte, error) {
		shot, err := cdp.Call(ctx, t, page.CaptureScreenshot, page.CaptureScreenshotParams{CaptureBeyondViewport: new(true)})
		return shot.Data, err
	})
	require.NoError(b.t, err)
	if *pictures != "" {
		require.NoError(b.t, os.MkdirAll(*pictures, 0o755))
		require.NoError(b.t, os.WriteFile(filepath.Join(*pictures, name+".png"), text, 0o644))
	}
	img, err := png.Decode(bytes.NewReader(text))
	require.NoError(b.t, err)
	require.IsType(b.t, &image.RGBA{}, img, "without transparency a PNG is decoded to this")
	return img.(*image.RGBA)
}
