// sieve.c - the sieve of Eratosthenes.
#include "sieve.h"

void sieve_mark(bool *composite, unsigned count)
{
    for (unsigned i = 2; i < count; i++) {
        if (composite[i]) continue;
        for (unsigned multiple = i + i; multiple < count; multiple += i) composite[multiple] = true;
    }
}
