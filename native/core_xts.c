/* XTS at the boundary: one data unit, alone or in sequence; pieces of one; many sectors. */

#include "boundary.h"

#include <pthread.h>
#include <stdlib.h>
#include <string.h>

#define BATCH 64 /* sectors of any size whose IVs are encrypted together */
#define ROW 16   /* sectors of one call that encrypts the next ones' IVs beside; the last call does so in vain */
#define UNIT 512 /* sectors in a row have a multiple of so many bytes */

/* A thread's own address without a call, where the system's linker has room for it in a library loaded late. */
#if defined(__linux__)
#define THREAD_MODEL __attribute__((tls_model("initial-exec")))
#else
#define THREAD_MODEL
#endif

#define OUTLINED __attribute__((noinline)) /* so that what calls it needs no registers for it */

/* An IV with a sector's number, on a little-endian CPU. A load waits for stores that each cover a part of it until they
   have left the store buffer; so an IV is read as words, which may be how it was written, and written as a whole. */
typedef uint64_t iv_register __attribute__((vector_size(BLOCK)));

static void successor(uint8_t next[BLOCK], const uint8_t iv[BLOCK])
{
    uint64_t words[2];
    memcpy(words, iv, BLOCK);
    const iv_register value = {words[0] + 1, words[1]};
    memcpy(next, &value, BLOCK);
}

/* A thread's own address. */
static uintptr_t this_thread(void)
{
    static _Thread_local char here THREAD_MODEL;
    return (uintptr_t)&here;
}

/* Whether the sequence is this thread's, which it becomes with the first call. */
static int owned(struct xts_sequence *sequence)
{
    uintptr_t owner = 0;
    return __atomic_compare_exchange_n(&sequence->owner, &owner, this_thread(), 0, __ATOMIC_RELAXED, __ATOMIC_RELAXED) ||
           owner == this_thread();
}

/* Whether sectors of that size are for the function that takes several. */
static inline int in_a_row(const struct xts_way *way, uint64_t size)
{
    return size <= way->row_most && size % UNIT == 0;
}

/* One data unit whose tweak is tweaks[0]; that of the next IV is made beside. */
static inline void go_on(struct xts_cipher *cipher, sectors_function function, const uint8_t *source, size_t length,
                         uint8_t *destination, const uint8_t iv[BLOCK])
{
    struct xts_sequence *sequence = &cipher->sequence;
    successor(sequence->next, iv);
    successor(sequence->tweaks[1], iv);
    function(&cipher->key, source, destination, length, sequence->tweaks[0], 1);
}

/* One data unit whose tweak is not ready. If its IV follows that of the unit before, the next one's will be. */
static OUTLINED int begin(struct xts_cipher *cipher, const struct xts_way *way, const uint8_t *source, size_t length,
                 uint8_t *destination, const uint8_t tweak[BLOCK])
{
    struct xts_sequence *sequence = &cipher->sequence;
    _Alignas(8) uint8_t iv[BLOCK];
    memcpy(iv, tweak, BLOCK);
    if (in_a_row(way, length) && owned(sequence)) {
        sequence->ready = !memcmp(sequence->next, iv, BLOCK);
        successor(sequence->next, iv);
    } else {
        sequence = NULL;
    }
    if (sequence && sequence->ready) {
        cipher->encrypt_ivs(&cipher->key.tweak, iv, sequence->tweaks[0], BLOCK);
        go_on(cipher, way->sectors, source, length, destination, iv);
    } else {
        way->unit(&cipher->key, source, destination, length, iv, XTS_FIRST);
    }
    clear(iv, sizeof iv);
    return ACCEPTED;
}

/* IVs are public: what is branched on here tells of no secret. The usual path, a tweak that is ready, is the first, and
   calls nothing but its function: the fewer instructions lie between two data units, the sooner the second begins. */
int core_xts(struct xts_cipher *cipher, const struct xts_way *way, const uint8_t *source, size_t length,
             uint8_t *destination, size_t room, const uint8_t tweak[16])
{
    if (length < BLOCK)
        return REFUSED_SHORT;
    if (length > cipher->limit)
        return REFUSED_LONG;
    int refusal = check_buffers(source, length, destination, room);
    if (refusal)
        return refusal;
    struct xts_sequence *sequence = &cipher->sequence;
    if (!in_a_row(way, length) || __atomic_load_n(&sequence->owner, __ATOMIC_RELAXED) != this_thread() ||
        !sequence->ready || memcmp(sequence->next, tweak, BLOCK))
        return begin(cipher, way, source, length, destination, tweak);
    memcpy(sequence->tweaks[0], sequence->tweaks[1], BLOCK);
    go_on(cipher, way->sectors, source, length, destination, tweak);
    return ACCEPTED;
}

int core_xts_piece(const struct xts_cipher *cipher, const struct xts_way *way, const uint8_t *source, size_t length,
                   uint8_t *destination, size_t room, struct xts_unit *unit, int last)
{
    if (length < BLOCK)
        return REFUSED_SHORT;
    if (!last && length % BLOCK)
        return REFUSED_PARTIAL_BLOCK;
    if (unit->position > cipher->limit || length > cipher->limit - unit->position)
        return REFUSED_LONG;
    int refusal = check_buffers(source, length, destination, room);
    if (refusal)
        return refusal;
    uint32_t flags = (unit->position ? 0 : XTS_FIRST) | (last ? 0 : XTS_UPDATE);
    way->unit(&cipher->key, source, destination, length, unit->tweak, flags);
    unit->position += length;
    return ACCEPTED;
}

/* Sectors from `source` to `destination`, of `size` bytes each, numbered from `first`. */
struct sectors {
    const uint8_t *source;
    uint8_t *destination;
    uint64_t size, first, count;
};

/* The IVs of `count` consecutive sectors: independent blocks, so that they fill registers. */
static void write_ivs(uint64_t sector, size_t count, uint8_t ivs[][BLOCK])
{
    iv_register value = {sector, 0};
    for (size_t i = 0; i < count; i++, value += (iv_register){1, 0})
        memcpy(ivs[i], &value, BLOCK);
}

static size_t at_most(uint64_t count, size_t most)
{
    return count < most ? (size_t)count : most;
}

/* One after the other, the IVs of BATCH sectors encrypted together. */
static void each_sector(const struct xts_cipher *cipher, xts_function function, const struct sectors *all)
{
    _Alignas(LINE) uint8_t tweaks[BATCH][BLOCK];
    for (uint64_t i = 0; i < all->count; i++) {
        size_t count = at_most(all->count - i, BATCH);
        if (i % BATCH == 0) {
            write_ivs(all->first + i, count, tweaks);
            cipher->encrypt_ivs(&cipher->key.tweak, tweaks[0], tweaks[0], count * BLOCK);
        }
        uint64_t at = i * all->size;
        function(&cipher->key, all->source + at, all->destination + at, all->size, tweaks[i % BATCH], 0);
    }
    clear(tweaks, sizeof tweaks);
}

/* ROW at a time, the next ones' IVs encrypted beside. */
static void sector_rows(const struct xts_cipher *cipher, sectors_function function, const struct sectors *all)
{
    _Alignas(LINE) uint8_t tweaks[2 * ROW][BLOCK];
    size_t count = at_most(all->count, ROW);
    write_ivs(all->first, count, tweaks);
    cipher->encrypt_ivs(&cipher->key.tweak, tweaks[0], tweaks[0], count * BLOCK);
    for (uint64_t i = 0; i < all->count; i += ROW, count = at_most(all->count - i, ROW)) {
        uint64_t at = i * all->size;
        write_ivs(all->first + i + count, count, tweaks + count);
        function(&cipher->key, all->source + at, all->destination + at, all->size, tweaks[0], (uint32_t)count);
        memcpy(tweaks, tweaks + count, count * BLOCK);
    }
    clear(tweaks, sizeof tweaks);
}

/* The sectors of one thread. */
struct share {
    const struct xts_cipher *cipher;
    const struct xts_way *way;
    struct sectors sectors;
    pthread_t thread;
    int begun;
};

static void *run_share(void *argument)
{
    const struct share *share = argument;
    if (in_a_row(share->way, share->sectors.size))
        sector_rows(share->cipher, share->way->sectors, &share->sectors);
    else
        each_sector(share->cipher, share->way->unit, &share->sectors);
    return NULL;
}

/* Part `part` of `parts` that are as equal as whole sectors can be. */
static struct sectors part_of(const struct sectors *all, uint64_t part, uint64_t parts)
{
    uint64_t each = all->count / parts, longer = all->count % parts;
    uint64_t begin = each * part + (part < longer ? part : longer), at = begin * all->size;
    return (struct sectors){all->source + at, all->destination + at, all->size, all->first + begin,
                            each + (part < longer)};
}

/* In threads of C: those of an interpreter would wait for each other to begin. One that cannot be had is done without. */
static void in_threads(const struct share *all, uint64_t threads)
{
    struct share *shares = calloc(threads, sizeof *shares), whole = *all;
    if (!shares) {
        run_share(&whole);
        return;
    }
    for (uint64_t i = threads; i-- > 0;) {
        shares[i] = whole;
        shares[i].sectors = part_of(&whole.sectors, i, threads);
        shares[i].begun = i && !pthread_create(&shares[i].thread, NULL, run_share, &shares[i]);
    }
    for (uint64_t i = 0; i < threads; i++)
        if (!shares[i].begun)
            run_share(&shares[i]);
    for (uint64_t i = 0; i < threads; i++)
        if (shares[i].begun)
            pthread_join(shares[i].thread, NULL);
    free(shares);
}

int core_xts_sectors(const struct xts_cipher *cipher, const struct xts_way *way, const uint8_t *source, size_t length,
                     uint8_t *destination, size_t room, uint64_t first_sector, uint64_t sector_size, uint64_t threads)
{
    if (sector_size < BLOCK)
        return REFUSED_SHORT;
    if (sector_size > cipher->limit)
        return REFUSED_LONG;
    if (length % sector_size)
        return REFUSED_PARTIAL_SECTOR;
    uint64_t sectors = length / sector_size;
    if (sectors && first_sector > UINT64_MAX - (sectors - 1))
        return REFUSED_SECTOR_NUMBER;
    int refusal = check_buffers(source, length, destination, room);
    if (refusal)
        return refusal;
    struct share all = {.cipher = cipher, .way = way, .sectors = {source, destination, sector_size, first_sector, sectors}};
    if (threads > sectors)
        threads = sectors;
    if (threads > 1)
        in_threads(&all, threads);
    else
        run_share(&all);
    return ACCEPTED;
}
