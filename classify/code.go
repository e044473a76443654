package classify

// NormalizeCode returns the bare error code (R3.9).
func NormalizeCode(code string) string { return code }
