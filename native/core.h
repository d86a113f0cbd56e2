#pragma once
#include "prototypes.h"

/* Checks at the boundary, and loops over batches and pieces: what the Python face calls. `function` is one of
   the implementations in prototypes.h. Everything is checked before the first byte is written. */

/* Why a call was refused. */
enum refusal {
    ACCEPTED,
    REFUSED_KEY_LENGTH,     /* not 16, 24 or 32 bytes; not twice that for XTS */
    REFUSED_EQUAL_HALVES,   /* of an XTS key */
    REFUSED_ROOM,           /* the destination's bytes, `room`, are not `length` */
    REFUSED_OVERLAP,        /* source and destination overlap in part */
    REFUSED_SHORT,          /* under 16 bytes */
    REFUSED_PARTIAL_BLOCK,  /* not a multiple of 16 */
    REFUSED_LONG,           /* a data unit over `limit` bytes */
    REFUSED_PARTIAL_SECTOR, /* not a multiple of the sector size */
    REFUSED_SECTOR_NUMBER,  /* the last sector's number needs more than 64 bits */
    REFUSED_IVS,            /* not 16 bytes for each of several messages */
};

typedef void (*keys_function)(struct aes_key *, const uint8_t *, uint32_t);
typedef void (*ecb_function)(const struct aes_key *, const uint8_t *, uint8_t *, size_t);
typedef void (*chain_function)(const struct aes_key *, const uint8_t *, uint8_t *, size_t, uint8_t *);
typedef void (*streams_function)(const struct aes_key *, const uint8_t *, uint8_t *, size_t, uint8_t *, uint32_t);
typedef void (*cts_function)(const struct aes_key *, const uint8_t *, uint8_t *, size_t, uint8_t *, uint32_t);
typedef void (*xts_function)(const struct xts_key *, const uint8_t *, uint8_t *, size_t, uint8_t *, uint32_t);
typedef void (*sectors_function)(const struct xts_key *, const uint8_t *, uint8_t *, size_t, uint8_t *, uint32_t);

/* A message under way: the next counter block, the current keystream block and how much of its end is unused. */
struct ctr_stream {
    uint8_t counter[16];
    uint8_t keystream[16];
    uint32_t left;
    uint64_t position; /* bytes of keystream used */
};

/* Data units in sequence, each IV that of the one before plus 1: `next` is the IV that would go on, and `tweaks` that of
   the last data unit and, where `ready`, that of the next one. It belongs to the thread that used it first, `owner`, so
   that it needs no lock; calls from others do without. */
struct xts_sequence {
    uint8_t tweaks[2][16];
    uint8_t next[16];
    uintptr_t owner;
    uint32_t ready;
};

/* An XTS key and what goes with it: data units have at most `limit` bytes. */
struct xts_cipher {
    struct xts_key key;
    struct xts_sequence sequence;
    ecb_function encrypt_ivs;
    uint64_t limit;
};

/* What encrypts, or decrypts: data units of any size, and sectors in a row of at most `row_most` bytes each, NULL and 0
   where the instruction set has none. */
struct xts_way {
    xts_function unit;
    sectors_function sectors;
    uint64_t row_most;
};

/* A data unit under way: the IV or the next tweak, and the bytes so far. */
struct xts_unit {
    uint8_t tweak[16];
    uint64_t position;
};

/* Zeroed memory on a cache line's border, cleared when it is released; NULL where there is none. */
void *core_allocate(size_t size);
void core_release(void *pointer);

/* Schedules. An XTS key is K1, the data key, then K2, the tweak key (IEEE 1619-2018, 5.1). */
int core_key(keys_function expand, struct aes_key *key, const uint8_t *bytes, size_t length);
int core_xts_key(keys_function expand, struct xts_key *key, const uint8_t *bytes, size_t length, int allow_equal);

/* One message, or several of `size` bytes each; neither an IV nor the counter is written. */
int core_ecb(ecb_function function, const struct aes_key *key, const uint8_t *source, size_t length,
             uint8_t *destination, size_t room);
int core_cbc(chain_function function, const struct aes_key *key, const uint8_t *source, size_t length,
             uint8_t *destination, size_t room, const uint8_t iv[16]);
int core_cbc_streams(streams_function function, const struct aes_key *key, const uint8_t *source, size_t length,
                     uint8_t *destination, size_t room, const uint8_t *ivs, size_t ivs_length, size_t size);
int core_cts(cts_function function, const struct aes_key *key, const uint8_t *source, size_t length,
             uint8_t *destination, size_t room, const uint8_t iv[16], uint32_t stealing);
int core_ctr(chain_function function, const struct aes_key *key, const uint8_t *source, size_t length,
             uint8_t *destination, size_t room, const uint8_t counter[16]);

/* The next `length` bytes of a message: any split gives the same bytes. */
int core_ctr_stream(chain_function function, const struct aes_key *key, struct ctr_stream *stream,
                    const uint8_t *source, size_t length, uint8_t *destination, size_t room);

/* A data unit; a piece of one, of which only the last may end in a partial block; consecutive data units, the sector's
   number little-endian in the low 8 bytes of each tweak, shared by so many `threads`. */
int core_xts(struct xts_cipher *cipher, const struct xts_way *way, const uint8_t *source, size_t length,
             uint8_t *destination, size_t room, const uint8_t tweak[16]);
int core_xts_piece(const struct xts_cipher *cipher, const struct xts_way *way, const uint8_t *source, size_t length,
                   uint8_t *destination, size_t room, struct xts_unit *unit, int last);
int core_xts_sectors(const struct xts_cipher *cipher, const struct xts_way *way, const uint8_t *source, size_t length,
                     uint8_t *destination, size_t room, uint64_t first_sector, uint64_t sector_size,
                     uint64_t threads);

/* For bench_pass, calls of integers: `length` bytes of sectors by core_xts_sectors; the next sector, of `length` bytes,
   by core_xts. */
struct bench_xts {
    struct xts_cipher *cipher;
    struct xts_way way;
    uint64_t sector;
};
void bench_batch(const struct bench_xts *bench, const uint8_t *source, uint8_t *destination, size_t length,
                 uint64_t sector_size);
void bench_sequence(struct bench_xts *bench, const uint8_t *source, uint8_t *destination, size_t length);

/* What compiled this: "GCC 12.2.0"; empty where unknown. */
const char *core_compiler(void);
