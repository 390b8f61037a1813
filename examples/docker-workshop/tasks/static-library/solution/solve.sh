#!/bin/bash
set -euo pipefail

cd /app
cat > strings.c <<'END'
#include "tally.h"
#include <ctype.h>
#include <stdlib.h>

char *next_word(FILE *from) {
    size_t length = 0, room = 16;
    char *word = malloc(room);
    int c;
    while ((c = getc(from)) != EOF) {
        if (isalpha(c)) {
            if (length + 1 == room) word = realloc(word, room *= 2);
            word[length++] = (char)tolower(c);
        } else if (length > 0) {
            break;
        }
    }
    if (length == 0) {
        free(word);
        return NULL;
    }
    word[length] = 0;
    return word;
}
END
sed -i 's/#include <stdlib.h>/&\n#include <string.h>/; s/counts->room);/counts->room * sizeof *counts->entries);/' counts.c
sed -i 's/return one->count - other->count;/if (one->count != other->count) return one->count < other->count ? 1 : -1;\n    return strcmp(one->word, other->word);/' counts.c
sed -i 's/-std=c11/-std=gnu11/; s/-ltally -L. main.o -o $@/main.o -L. -ltally -o $@/; s/libtally.a: strings.o/& counts.o/' Makefile
make
