package report

import "image/color"

// The colours differ in lightness as well, so that they can be told apart on
// black-and-white paper and by the colour-blind.
var (
	outageColor     = color.NRGBA{R: 0xf6, G: 0xd5, B: 0xcf, A: 0xff}
	recoveryColor   = color.NRGBA{R: 0xfb, G: 0xf0, B: 0xd9, A: 0xff}
	okColor         = color.NRGBA{R: 0x8f, G: 0xc7, B: 0xb0, A: 0xff}
	failedColor     = color.NRGBA{R: 0xb4, G: 0x2b, B: 0x22, A: 0xff}
	transientColor  = color.NRGBA{R: 0x2b, G: 0x5f, B: 0xa8, A: 0xff}
	throttlingColor = color.NRGBA{R: 0xe8, G: 0xa3, B: 0x3d, A: 0xff}
	quotaColor      = color.NRGBA{R: 0x46, G: 0x3c, B: 0x8f, A: 0xff}
	quotaFill       = color.NRGBA{R: 0xb9, G: 0xb3, B: 0xdf, A: 0xff}
	sentColor       = color.NRGBA{R: 0xb5, G: 0xcd, B: 0xe8, A: 0xff}
	measuredColor   = color.NRGBA{R: 0x1f, G: 0x7a, B: 0x62, A: 0xff}
	fillRateColor   = color.NRGBA{R: 0x46, G: 0x3c, B: 0x8f, A: 0xff}
)
