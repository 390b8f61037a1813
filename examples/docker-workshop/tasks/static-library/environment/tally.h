#ifndef TALLY_H
#define TALLY_H

#include <stddef.h>
#include <stdio.h>

struct entry {
    char *word;
    size_t count;
};

struct counts {
    struct entry *entries;
    size_t length, room;
};

/* The next word in small letters, to be freed by the caller; NULL at the end. */
char *next_word(FILE *from);

void add_word(struct counts *counts, const char *word);
void print_counts(struct counts *counts);

#endif
