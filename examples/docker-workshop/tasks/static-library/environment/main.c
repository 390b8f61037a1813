#include "tally.h"
#include <stdlib.h>

int main(void) {
    struct counts counts = {0};
    for (char *word; (word = next_word(stdin)); free(word)) add_word(&counts, word);
    print_counts(&counts);
    return 0;
}
