#include "prototypes.h"

/* Other libraries, loaded at run time: each operation as one call of six integers, for bench_pass. */

typedef int evp_init(void *context, void *cipher, void *engine, void *key, const uint8_t *iv, int direction);
typedef int evp_update(void *context, uint8_t *destination, int *written, const uint8_t *source, int length);
typedef unsigned gcrypt_iv(void *context, const uint8_t *iv, size_t length);
typedef unsigned gcrypt_run(void *context, uint8_t *to, size_t room, const uint8_t *from, size_t length);

void peer_evp(const struct peer *peer, const uint8_t *source, uint8_t *destination, size_t length, uint8_t *iv)
{
    int written;
    ((evp_init *)peer->start)(peer->context, NULL, NULL, NULL, iv, -1);
    ((evp_update *)peer->run)(peer->context, destination, &written, source, (int)length);
}

void peer_gcrypt(const struct peer *peer, const uint8_t *source, uint8_t *destination, size_t length, uint8_t *iv)
{
    if (peer->start)
        ((gcrypt_iv *)peer->start)(peer->context, iv, 16);
    ((gcrypt_run *)peer->run)(peer->context, destination, length, source, length);
}
