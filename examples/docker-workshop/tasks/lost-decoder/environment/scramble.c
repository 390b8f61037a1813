#include <stdio.h>

int main(void) {
    unsigned key = 90, c;
    for (unsigned place = 0; (int)(c = getchar()) != EOF; place++) {
        unsigned out = (c ^ key) & 255;
        out = (out << 3 | out >> 5) & 255;
        putchar(out);
        key = (key * 5 + out + place) & 255;
    }
}
