// The AES key schedule (FIPS 197, 5.2) for 128, 192 and 256-bit keys, and the round keys of the
// equivalent inverse cipher (FIPS 197, 5.3.5), by AESKEYGENASSIST and AESIMC.
//
//   rdi  the schedule: encryption at 0, decryption at 240, the key length in bytes at 480
//   rsi  the key, of which exactly `edx` bytes are read
//   edx  the key length: 16, 24 or 32 bytes (the caller has checked it)
//   rcx  the offset of the last encryption round key: 160, 192 or 224
//   xmm0 w[i] .. w[i+3], the words being extended
//   xmm1 w[i+4] and on: two words of a 192-bit key, four of a 256-bit key
//   xmm2, xmm3  scratch
//
// Legacy encodings: this is the one part of the core that needs AES-NI alone.
// Clobbers rax, rcx, r8, xmm0 to xmm3 and the flags. The registers that held key material are
// cleared before the return. No branch and no address depends on the key, only on its length.

#define DECRYPT 240
#define LENGTH 480

// \words = the running XOR of its dwords from the low end, XOR the broadcast dword in xmm2:
// w[i] = w[i-Nk] ^ w[i-1] for a whole group at once. Clobbers xmm3.
.macro extend words
	movdqa	\words, %xmm3
	pslldq	$4, %xmm3
	pxor	%xmm3, \words
	movdqa	\words, %xmm3
	pslldq	$8, %xmm3
	pxor	%xmm3, \words
	pxor	%xmm2, \words
.endm

// Extend \words by dword \lane of AESKEYGENASSIST of \last. That instruction leaves
// SubWord(X1), RotWord(SubWord(X1)) ^ rcon, SubWord(X3), RotWord(SubWord(X3)) ^ rcon.
.macro generate words, last, lane, rcon
	aeskeygenassist	$\rcon, \last, %xmm2
	pshufd	$(\lane * 0x55), %xmm2, %xmm2
	extend	\words
.endm

.macro step_128 offset, rcon
	generate	%xmm0, %xmm0, 3, \rcon
	movdqu	%xmm0, \offset(%rdi)
.endm

// Six words a step. w[i+4] and w[i+5] follow from w[i+3], which heads no group: no SubWord.
.macro step_192 offset, rcon
	generate	%xmm0, %xmm1, 1, \rcon
	movdqu	%xmm0, \offset(%rdi)
	pshufd	$0xff, %xmm0, %xmm2
	extend	%xmm1
	movq	%xmm1, \offset + 16(%rdi)
.endm

// Eight words a step; the second four begin with SubWord alone (Nk > 6 in FIPS 197).
.macro step_256 offset, rcon
	generate	%xmm0, %xmm1, 3, \rcon
	movdqu	%xmm0, \offset(%rdi)
	generate	%xmm1, %xmm0, 2, 0
	movdqu	%xmm1, \offset + 16(%rdi)
.endm

.text
.p2align 4
.globl keys_expand_aesni
.type keys_expand_aesni, @function
keys_expand_aesni:
	endbr64
	movdqu	(%rsi), %xmm0
	movdqu	%xmm0, (%rdi)
	// Round keys that a shorter key does not reach are zero, so equal keys give equal schedules.
	pxor	%xmm2, %xmm2
	.irp offset, 176, 192, 208, 224
	movdqu	%xmm2, \offset(%rdi)
	movdqu	%xmm2, DECRYPT + \offset(%rdi)
	.endr
	movd	%edx, %xmm2
	movdqu	%xmm2, LENGTH(%rdi)
	lea	96(, %rdx, 4), %ecx
	cmp	$24, %edx
	je	.Lkeys_192
	ja	.Lkeys_256

	step_128	16, 0x01
	step_128	32, 0x02
	step_128	48, 0x04
	step_128	64, 0x08
	step_128	80, 0x10
	step_128	96, 0x20
	step_128	112, 0x40
	step_128	128, 0x80
	step_128	144, 0x1b
	step_128	160, 0x36
	jmp	.Lkeys_inverse

.Lkeys_192:
	movq	16(%rsi), %xmm1
	movq	%xmm1, 16(%rdi)
	step_192	24, 0x01
	step_192	48, 0x02
	step_192	72, 0x04
	step_192	96, 0x08
	step_192	120, 0x10
	step_192	144, 0x20
	step_192	168, 0x40
	generate	%xmm0, %xmm1, 1, 0x80
	movdqu	%xmm0, 192(%rdi)
	jmp	.Lkeys_inverse

.Lkeys_256:
	movdqu	16(%rsi), %xmm1
	movdqu	%xmm1, 16(%rdi)
	step_256	32, 0x01
	step_256	64, 0x02
	step_256	96, 0x04
	step_256	128, 0x08
	step_256	160, 0x10
	step_256	192, 0x20
	generate	%xmm0, %xmm1, 3, 0x40
	movdqu	%xmm0, 224(%rdi)

.Lkeys_inverse:
	// The same keys in reverse order, InvMixColumns applied to all but the first and the last.
	movdqu	(%rdi), %xmm0
	movdqu	%xmm0, DECRYPT(%rdi, %rcx)
	movdqu	(%rdi, %rcx), %xmm0
	movdqu	%xmm0, DECRYPT(%rdi)
	lea	DECRYPT + 16(%rdi), %r8
	lea	-16(%rdi, %rcx), %rax
1:
	movdqu	(%rax), %xmm0
	aesimc	%xmm0, %xmm0
	movdqu	%xmm0, (%r8)
	add	$16, %r8
	sub	$16, %rax
	cmp	%rdi, %rax
	jne	1b

	pxor	%xmm0, %xmm0
	pxor	%xmm1, %xmm1
	pxor	%xmm2, %xmm2
	pxor	%xmm3, %xmm3
	ret
.size keys_expand_aesni, . - keys_expand_aesni

.section .note.GNU-stack, "", @progbits
