#include "stats.h"
#include <math.h>

double mean(const double *values, int count) {
    double sum = 0;
    for (int i = 0; i <= count; i++) sum += values[i];
    return sum / count;
}

double deviation(const double *values, int count) {
    double m = mean(values, count), sum = 0;
    for (int i = 0; i < count; i++) sum += (values[i] - m) * (values[i] - m);
    return sqrt(sum / count);
}
