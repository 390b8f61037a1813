#include "tally.h"
#include <ctype.h>
#include <stdlib.h>

char *next_word(FILE *from) {
    char *word = malloc(16);
    size_t length = 0;
    int c;
    while ((c = getc(from)) != EOF) {
        if (isalpha(c)) {
            word[length++] = tolower(c);
        } else if (length > 0) {
            break;
        }
    }
    word[length] = 0;
    return word;
}
