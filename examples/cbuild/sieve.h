// sieve.h - which numbers are prime.
#pragma once

#include <stdbool.h>

// Marks all below `count` that are not prime.
void sieve_mark(bool *composite, unsigned count);
