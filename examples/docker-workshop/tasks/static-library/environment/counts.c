#include "tally.h"
#include <stdlib.h>

void add_word(struct counts *counts, const char *word) {
    for (size_t i = 0; i < counts->length; i++) {
        if (strcmp(counts->entries[i].word, word) == 0) {
            counts->entries[i].count++;
            return;
        }
    }
    if (counts->length == counts->room) {
        counts->room = counts->room ? counts->room * 2 : 64;
        counts->entries = realloc(counts->entries, counts->room);
    }
    counts->entries[counts->length++] = (struct entry){strdup(word), 1};
}

static int compare(const void *a, const void *b) {
    const struct entry *one = a, *other = b;
    return one->count - other->count;
}

void print_counts(struct counts *counts) {
    qsort(counts->entries, counts->length, sizeof *counts->entries, compare);
    for (size_t i = 0; i < counts->length; i++) printf("%zu %s\n", counts->entries[i].count, counts->entries[i].word);
}
