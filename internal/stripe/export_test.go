package stripe

import "unsafe"

// CellSize is the distance of two cells, in bytes.
const CellSize = unsafe.Sizeof(cell{})
