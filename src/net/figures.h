/* The figures of the store and of its handle, for the page of metrics. */
#ifndef PAWL_NET_FIGURES_H
#define PAWL_NET_FIGURES_H

#include "net/metrics.h"

/* Looks at the store, which may wait; says in the page itself when it could not be looked at. */
void pawl_figures_print(struct pawl *pawl, struct pawl_metrics_page *page);

#endif
