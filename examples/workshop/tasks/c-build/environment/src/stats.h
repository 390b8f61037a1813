#ifndef STATS_H
#define STATS_H

double mean(const double *values, int count);

#endif
