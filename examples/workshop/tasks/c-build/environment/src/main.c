#include "stats.h"
#include <stdio.h>
#include <stdlib.h>

int main(int argc, char **argv) {
    double values[64];
    int count = argc - 1;
    if (count < 1 || count > 64) return 2;
    for (int i = 0; i < count; i++) values[i] = atof(argv[i + 1]);
    printf("mean %.2f sd %.2f\n", mean(values, count), deviation(values, count));
    return 0;
}
