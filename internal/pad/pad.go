// Package pad knows how far apart two words must lie so that writing one does
// not slow the readers of the other.
package pad

// CacheLine is the distance, in bytes, at which two words never share a line.
// Lines are 64 bytes on amd64, but its prefetcher fetches them in pairs, and
// 128 bytes on many arm64 cores. The cost is memory: 120 idle bytes for each
// word that is padded.
const CacheLine = 128
