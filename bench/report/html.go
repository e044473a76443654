package report

import "io"

// HTML writes the page.
func (d *Data) HTML(w io.Writer, reasons Reasons) error { return nil }
