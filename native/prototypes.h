#pragma once
#include <stddef.h>
#include <stdint.h>

/* Everything that Python can call, and nothing else: this file is read by the C compiler and by cffi. */

/* A schedule: encryption round keys, those of the equivalent inverse cipher, the key length in bytes at 480. */
struct aes_key {
    uint8_t encrypt[240];
    uint8_t decrypt[240];
    uint32_t length;
    uint32_t padding[3];
};

/* XTS: the tweak key's schedule at 0, the data key's at 496. */
struct xts_key {
    struct aes_key tweak;
    struct aes_key data;
};

/* One CPUID leaf into eax, ebx, ecx, edx; zeros where the leaf or the CPU's family has none. */
void cpu_identify(uint32_t leaf, uint32_t subleaf, uint32_t registers[4]);

/* XCR0: which register state the operating system has enabled; 0 without XGETBV. */
uint64_t cpu_enabled_state(void);

/* The schedule of a key of `length` = 16, 24 or 32 bytes (FIPS 197, 5.2), no byte beyond it read. Needs AES.
   Round keys that a shorter key does not have, and the padding, become zero. */
void keys_expand_aesni(struct aes_key *key, const uint8_t *bytes, uint32_t length);

/* ECB: `length` bytes, a multiple of 16 (0 allowed); source and destination equal or apart. */
void ecb_encrypt_aesni_avx(const struct aes_key *, const uint8_t *source, uint8_t *destination, size_t length);
void ecb_encrypt_vaes_avx2(const struct aes_key *, const uint8_t *source, uint8_t *destination, size_t length);
void ecb_encrypt_vaes_avx512_256(const struct aes_key *, const uint8_t *source, uint8_t *destination, size_t length);
void ecb_encrypt_vaes_avx512_512(const struct aes_key *, const uint8_t *source, uint8_t *destination, size_t length);
void ecb_decrypt_aesni_avx(const struct aes_key *, const uint8_t *source, uint8_t *destination, size_t length);
void ecb_decrypt_vaes_avx2(const struct aes_key *, const uint8_t *source, uint8_t *destination, size_t length);
void ecb_decrypt_vaes_avx512_256(const struct aes_key *, const uint8_t *source, uint8_t *destination, size_t length);
void ecb_decrypt_vaes_avx512_512(const struct aes_key *, const uint8_t *source, uint8_t *destination, size_t length);

/* CTR: any `length`; 0 changes nothing. The counter, a 128-bit big-endian integer, advances by ceil(length / 16): it
   continues a message whose last piece ended on a block. */
void ctr_crypt_aesni_avx(const struct aes_key *, const uint8_t *source, uint8_t *destination, size_t length, uint8_t counter[16]);
void ctr_crypt_vaes_avx2(const struct aes_key *, const uint8_t *source, uint8_t *destination, size_t length, uint8_t counter[16]);
void ctr_crypt_vaes_avx512_256(const struct aes_key *, const uint8_t *source, uint8_t *destination, size_t length, uint8_t counter[16]);
void ctr_crypt_vaes_avx512_512(const struct aes_key *, const uint8_t *source, uint8_t *destination, size_t length, uint8_t counter[16]);

/* CBC: `length` bytes, a multiple of 16; 0 changes nothing. The IV becomes the last ciphertext block. */
void cbc_encrypt_aesni_avx(const struct aes_key *, const uint8_t *source, uint8_t *destination, size_t length, uint8_t iv[16]);
void cbc_decrypt_aesni_avx(const struct aes_key *, const uint8_t *source, uint8_t *destination, size_t length, uint8_t iv[16]);
void cbc_decrypt_vaes_avx2(const struct aes_key *, const uint8_t *source, uint8_t *destination, size_t length, uint8_t iv[16]);
void cbc_decrypt_vaes_avx512_256(const struct aes_key *, const uint8_t *source, uint8_t *destination, size_t length, uint8_t iv[16]);
void cbc_decrypt_vaes_avx512_512(const struct aes_key *, const uint8_t *source, uint8_t *destination, size_t length, uint8_t iv[16]);

/* CBC with ciphertext stealing: any length from 16 bytes (a shorter one returns at once; 16 are plain CBC), `stealing`
   1, 2 or 3 for CS1, CS2, CS3 (SP 800-38A addendum). Source and destination equal or apart. A whole message in one
   call; the IV becomes C_n, the last block that the cipher put out, which RFC 3962 carries to the next message. */
void cts_encrypt_aesni_avx(
    const struct aes_key *, const uint8_t *source, uint8_t *destination, size_t length, uint8_t iv[16], uint32_t stealing);
void cts_decrypt_aesni_avx(
    const struct aes_key *, const uint8_t *source, uint8_t *destination, size_t length, uint8_t iv[16], uint32_t stealing);
void cts_decrypt_vaes_avx2(
    const struct aes_key *, const uint8_t *source, uint8_t *destination, size_t length, uint8_t iv[16], uint32_t stealing);
void cts_decrypt_vaes_avx512_256(
    const struct aes_key *, const uint8_t *source, uint8_t *destination, size_t length, uint8_t iv[16], uint32_t stealing);
void cts_decrypt_vaes_avx512_512(
    const struct aes_key *, const uint8_t *source, uint8_t *destination, size_t length, uint8_t iv[16], uint32_t stealing);

/* CBC encryption of `count` messages of `length` bytes each, a multiple of 16, one after the other; so are their IVs,
   each of which becomes its message's last ciphertext block. */
void cbc_streams_encrypt_aesni_avx(
    const struct aes_key *, const uint8_t *source, uint8_t *destination, size_t length, uint8_t *ivs, uint32_t count);
void cbc_streams_encrypt_vaes_avx2(
    const struct aes_key *, const uint8_t *source, uint8_t *destination, size_t length, uint8_t *ivs, uint32_t count);
void cbc_streams_encrypt_vaes_avx512_256(
    const struct aes_key *, const uint8_t *source, uint8_t *destination, size_t length, uint8_t *ivs, uint32_t count);
void cbc_streams_encrypt_vaes_avx512_512(
    const struct aes_key *, const uint8_t *source, uint8_t *destination, size_t length, uint8_t *ivs, uint32_t count);

/* Flags of an XTS function. */
#define XTS_FIRST 1 /* the tweak argument is the IV: encrypt it with the tweak key */
#define XTS_UPDATE 2 /* write the tweak that follows the last whole block back */

/* XTS: any length from 16 bytes (a shorter one returns at once); source and destination equal or apart. A message in
   pieces: every piece but the last is a multiple of 16, and the last whole block travels with the tail. */
void xts_encrypt_aesni_avx(
    const struct xts_key *, const uint8_t *source, uint8_t *destination, size_t length, uint8_t tweak[16], uint32_t flags);
void xts_encrypt_vaes_avx2(
    const struct xts_key *, const uint8_t *source, uint8_t *destination, size_t length, uint8_t tweak[16], uint32_t flags);
void xts_encrypt_vaes_avx512_256(
    const struct xts_key *, const uint8_t *source, uint8_t *destination, size_t length, uint8_t tweak[16], uint32_t flags);
void xts_encrypt_vaes_avx512_512(
    const struct xts_key *, const uint8_t *source, uint8_t *destination, size_t length, uint8_t tweak[16], uint32_t flags);
void xts_decrypt_aesni_avx(
    const struct xts_key *, const uint8_t *source, uint8_t *destination, size_t length, uint8_t tweak[16], uint32_t flags);
void xts_decrypt_vaes_avx2(
    const struct xts_key *, const uint8_t *source, uint8_t *destination, size_t length, uint8_t tweak[16], uint32_t flags);
void xts_decrypt_vaes_avx512_256(
    const struct xts_key *, const uint8_t *source, uint8_t *destination, size_t length, uint8_t tweak[16], uint32_t flags);
void xts_decrypt_vaes_avx512_512(
    const struct xts_key *, const uint8_t *source, uint8_t *destination, size_t length, uint8_t tweak[16], uint32_t flags);

/* XTS of `count` sectors of `sector_size` bytes each, a multiple of 512 (other sizes are cut down to one, 0 changes
   nothing), one after the other; source and destination equal or apart. `tweaks` has 2 * count blocks: the sectors' first
   tweaks, which are encrypted IVs, then as many IVs of sectors to come, which are encrypted where they lie. */
void xts_sectors_encrypt_vaes_avx512_256(
    const struct xts_key *, const uint8_t *source, uint8_t *destination, size_t sector_size, uint8_t *tweaks, uint32_t count);
void xts_sectors_encrypt_vaes_avx512_512(
    const struct xts_key *, const uint8_t *source, uint8_t *destination, size_t sector_size, uint8_t *tweaks, uint32_t count);
void xts_sectors_decrypt_vaes_avx512_256(
    const struct xts_key *, const uint8_t *source, uint8_t *destination, size_t sector_size, uint8_t *tweaks, uint32_t count);
void xts_sectors_decrypt_vaes_avx512_512(
    const struct xts_key *, const uint8_t *source, uint8_t *destination, size_t sector_size, uint8_t *tweaks, uint32_t count);

/* Nanoseconds of clock(iterations), then of `calls` calls of `function` with six integer arguments in a row, then of
   clock(iterations) again; without what reading the time takes. */
void bench_pass(uintptr_t clock, uint64_t iterations, uintptr_t function, const uintptr_t arguments[6], uint64_t calls,
    uint64_t times[3]);

/* Another library's cipher with its key set: what it calls a context, how a message starts, how it runs. */
struct peer {
    void *context;
    void *start;
    void *run;
};

/* One message by libcrypto's EVP interface, or by libgcrypt: the IV set, then the whole message at once. */
void peer_evp(const struct peer *peer, const uint8_t *source, uint8_t *destination, size_t length, uint8_t *iv);
void peer_gcrypt(const struct peer *peer, const uint8_t *source, uint8_t *destination, size_t length, uint8_t *iv);

/* n × 64 dependent additions, and n × 64 AES rounds dependent or independent: the limits of this CPU, n at least 1.
   xmm needs AES and AVX, ymm VAES, zmm VAES and AVX512F. */
void limit_add(uint64_t n);
void limit_latency_xmm(uint64_t n);
void limit_latency_ymm(uint64_t n);
void limit_latency_zmm(uint64_t n);
void limit_throughput_xmm(uint64_t n);
void limit_throughput_ymm(uint64_t n);
void limit_throughput_zmm(uint64_t n);

/* Silicon: the registers of a child that is stopped; `general` in the order of the encoding. */
struct silicon_registers {
    uint64_t general[16];
    uint64_t rip;
    uint64_t flags;
    uint64_t masks[8];
    uint8_t vectors[32][64];
};

/* Memory shared with the child: `size`, a multiple of 64, bytes at `address` there, at now + offset here. Changes of
   watched ranges are found against before + offset. */
struct silicon_range {
    uint64_t address, offset, size;
    uint64_t watched;
};
struct silicon_memory {
    const uint8_t *now;
    uint8_t *before;
    const struct silicon_range *ranges;
    size_t count;
};

/* 64 bytes as step `step` of a run left them. */
struct silicon_change {
    uint64_t step, address;
    uint8_t bytes[64];
};

/* Why a run ended: 0 for the steps asked for or no room for changes. A signal's number is in the low 7 bits. */
#define SILICON_RETURNED 0x100
#define SILICON_SYSTEM_CALL 0x200
#define SILICON_GONE 0x400
#define SILICON_SIGNAL 0x800
#define SILICON_ITERATIONS 65536 /* of one rep instruction */
struct silicon_stop {
    uint64_t reason, address, code, changes;
};

/* A stopped child that runs the ELF file `program`, the file `memory` open under its number here; its process, or -errno. */
int silicon_start(int program, int memory);
void silicon_end(int child);
int silicon_get(int child, struct silicon_registers *registers);
int silicon_set(int child, const struct silicon_registers *registers);
int64_t silicon_system_call(int child, uint64_t stub, uint64_t number, const uint64_t arguments[6]);

/* Run without a stop until a fault; the return to an address where nothing lies is one. Two ticks of the child's timer
   at the same *progress end it as SIGVTALRM. */
void silicon_go(int child, uint64_t until, const volatile uint64_t *progress, struct silicon_stop *);

/* Up to `most` instructions, or until rip is `until`; the number made. states[i] is the state after the i-th. */
uint64_t silicon_run(int child, uint64_t until, uint64_t most, const struct silicon_memory *, struct silicon_registers *states,
    struct silicon_change *changes, uint64_t room, struct silicon_stop *);

/* Calls that a process makes by itself, with nothing else in its address space, where its tables are read-only. */
#define CALLS_STATE 0x6E0000000000 /* the address of its state */
struct calls_bytes { /* what memory holds before a message, or must hold after it */
    uint64_t at, from, size;
};
struct calls_call {
    uint64_t arguments[6];
};
struct calls_check { /* one message: so many of the script's calls and bytes, from these places on */
    uint64_t call, calls, fill, fills, want, wants;
    uint64_t iv, iv_before, iv_size; /* of IVs: they may stay on the stack */
};
struct calls_script {
    uint64_t function;
    const struct calls_check *checks;
    const struct calls_call *calls;
    const struct calls_bytes *bytes;
    const uint32_t *which; /* of the checks are made, in this order */
    uint64_t count;
    uint64_t stack, stack_size; /* whose addresses may stay on it */
    uint64_t watched;           /* bytes below the stack pointer that must hold nothing secret on return */
    uint64_t cleared;           /* of the first vector registers that must be zero on return */
};
struct calls_state {
    uint64_t our_stack, its_stack, width; /* width: bytes of a vector register of this CPU */
    uint64_t saved[6];
    uint64_t rsp, flags;
    uint64_t at, call, made, reason, detail; /* the check of `which` and its call that is under way; `count` at the end */
    uint64_t vectors[16][8];
};

/* Why a check fails. */
#define CALLS_DIFFERENT 1 /* detail: the address of the first byte that is not as it must be */
#define CALLS_SAVED_REGISTER 2
#define CALLS_STACK_POINTER 3
#define CALLS_DIRECTION 4
#define CALLS_UPPER_HALVES 5
#define CALLS_NOT_CLEARED 6
#define CALLS_LEFT 7 /* detail: the address on the stack */
