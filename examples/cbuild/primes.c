// primes.c - prints the prime numbers up to its argument.
#include "sieve.h"

#include <stdio.h>
#include <stdlib.h>

int main(int count, char **words)
{
    unsigned long last = count > 1 ? strtoul(words[1], NULL, 10) : 100;
    if (last > 1000000) return 2;
    bool *composite = calloc(last + 1, sizeof *composite);
    if (!composite) return 1;
    sieve_mark(composite, (unsigned)last + 1);
    for (unsigned long i = 2; i <= last; i++)
        if (!composite[i]) printf("%lu\n", i);
    free(composite);
    return 0;
}
