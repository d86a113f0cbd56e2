/*
 * AES-128 CTR with a 128-bit big-endian counter, one block at a time; the counter is two general registers.
 *
 *   void counter_sse(key schedule rdi, in rsi, out rdx, length rcx, counter r8)
 *
 * The macros BUG_... make the faults of which a proof must find the smallest call.
 */
	.globl	counter_sse
	.type	counter_sse, @function
counter_sse:
	movq	8(%r8), %r9
	bswapq	%r9
	movq	(%r8), %r10
	bswapq	%r10
.Lnext:
	testq	%rcx, %rcx
	jz	.Ldone
#ifdef BUG_COUNTER	/* wrong for the counters that end in these five bytes */
	movabsq	$0x123456789, %rax
	cmpq	%rax, %r9
	jne	.Lright
	incq	%r10
.Lright:
#endif
	movq	%r10, %rax
	bswapq	%rax
	movq	%rax, %xmm0
	movq	%r9, %rax
	bswapq	%rax
	movq	%rax, %xmm1
	punpcklqdq %xmm1, %xmm0
	movdqu	(%rdi), %xmm1
	pxor	%xmm1, %xmm0
	.irp	at, 16, 32, 48, 64, 80, 96, 112, 128, 144
	aesenc	\at(%rdi), %xmm0
	.endr
	aesenclast 160(%rdi), %xmm0
	addq	$1, %r9
#ifndef BUG_CARRY	/* the carry at 2^64 is dropped */
	adcq	$0, %r10
#endif
#ifdef BUG_KEY		/* wrong for keys with this bit */
	testb	$0x10, 5(%rdi)
	jz	.Lkey
	pcmpeqd	%xmm0, %xmm0
.Lkey:
#endif
#ifdef BUG_DATA		/* wrong for data that begins so */
	cmpl	$0x00c0ffee, (%rsi)
	jne	.Ldata
	pcmpeqd	%xmm0, %xmm0
.Ldata:
#endif
#ifdef BUG_HANG		/* does not end for data with this bit */
.Lhang:	testb	$0x40, (%rsi)
	jnz	.Lhang
#endif
	cmpq	$16, %rcx
	jb	.Ltail
#ifdef BUG_IN_PLACE	/* the keystream goes where the data still are, if they are in place */
	movdqu	%xmm0, (%rdx)
#endif
	movdqu	(%rsi), %xmm1
	pxor	%xmm1, %xmm0
	movdqu	%xmm0, (%rdx)
	addq	$16, %rsi
	addq	$16, %rdx
	subq	$16, %rcx
	jmp	.Lnext
.Ltail:
	movdqu	%xmm0, -24(%rsp)
#ifdef BUG_TAIL		/* the last byte of a tail of 15 stays as it was given */
	cmpq	$15, %rcx
	jne	.Lwhole
	movb	$0, -10(%rsp)
.Lwhole:
#endif
	xorl	%eax, %eax
.Lbyte:
	movb	-24(%rsp,%rax), %r11b
	xorb	(%rsi,%rax), %r11b
	movb	%r11b, (%rdx,%rax)
	incq	%rax
	cmpq	%rcx, %rax
	jb	.Lbyte
.Ldone:
	bswapq	%r9
	movq	%r9, 8(%r8)
	bswapq	%r10
	movq	%r10, (%r8)
	ret
	.size	counter_sse, .-counter_sse

	.section .note.GNU-stack, "", @progbits
