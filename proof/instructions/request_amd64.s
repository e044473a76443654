#include "textflag.h"

// func request(args *[6]uint64) (answer uint64)
//
// Safety: the four rotations of DI come to 128 and the exchange is with itself, so
// the sequence changes nothing but DX; valgrind knows it by that, and puts its
// answer there. AX points to the arguments. It touches no stack but its frame's.
TEXT ·request(SB), NOSPLIT, $0-16
	MOVQ args+0(FP), AX
	XORL DX, DX
	ROLQ $3, DI
	ROLQ $13, DI
	ROLQ $61, DI
	ROLQ $51, DI
	XCHGQ BX, BX
	MOVQ DX, answer+8(FP)
	RET
