// SPDX-License-Identifier: GPL-2.0
/*
 * Statistics of the LIF. They go to host memory some time after they have
 * changed, all at once, so that a burst of frames costs one write.
 */
#include <endian.h>

#include "ionic.h"

#define DELAY_NS	(10 * IONIC_NS_PER_MS)

void ionic_stats_add(struct ionic *ionic, enum ionic_lif_stat stat, uint64_t n)
{
	struct ionic_lif *lif = &ionic->lif;

	lif->stats[stat] += n;
	if (lif->stats_when)
		return;
	lif->stats_when = model_now(&ionic->dev) + DELAY_NS;
	model_kick(&ionic->dev);	/* which asks for the time */
}

enum kind { UNICAST, MULTICAST, BROADCAST };

static enum kind kind_of(const uint8_t *mac)
{
	if (ionic_is_broadcast(mac))
		return BROADCAST;
	return ionic_is_multicast(mac) ? MULTICAST : UNICAST;
}

void ionic_stats_frame(struct ionic *ionic, const uint8_t *mac, size_t len, bool tx)
{
	static const enum ionic_lif_stat bytes[2][3] = {
		{ IONIC_STAT_RX_UNICAST_BYTES, IONIC_STAT_RX_MULTICAST_BYTES,
		  IONIC_STAT_RX_BROADCAST_BYTES },
		{ IONIC_STAT_TX_UNICAST_BYTES, IONIC_STAT_TX_MULTICAST_BYTES,
		  IONIC_STAT_TX_BROADCAST_BYTES },
	};
	enum ionic_lif_stat stat = bytes[tx][kind_of(mac)];

	ionic_stats_add(ionic, stat, len);
	ionic_stats_add(ionic, stat + 1, 1);	/* the packets are behind the bytes */
}

void ionic_stats_drop(struct ionic *ionic, const uint8_t *mac, bool tx)
{
	static const enum ionic_lif_stat drops[2][3] = {
		{ IONIC_STAT_RX_UNICAST_DROPS, IONIC_STAT_RX_MULTICAST_DROPS,
		  IONIC_STAT_RX_BROADCAST_DROPS },
		{ IONIC_STAT_TX_UNICAST_DROPS, IONIC_STAT_TX_MULTICAST_DROPS,
		  IONIC_STAT_TX_BROADCAST_DROPS },
	};

	ionic_stats_add(ionic, drops[tx][kind_of(mac)], 1);
}

static void publish(struct ionic *ionic)
{
	const struct ionic_lif *lif = &ionic->lif;
	uint64_t stats[IONIC_STATS];

	for (unsigned int i = 0; i < IONIC_STATS; i++)
		stats[i] = htole64(lif->stats[i]);
	ionic->tally.stats_writes++;
	ionic_write(ionic, lif->info + offsetof(struct ionic_lif_info, stats), stats, sizeof(stats),
		    "LIF statistics");
}

uint64_t ionic_stats_work(struct ionic *ionic)
{
	struct ionic_lif *lif = &ionic->lif;

	if (!lif->live || !lif->stats_when || lif->stats_when > model_now(&ionic->dev))
		return lif->live ? lif->stats_when : 0;
	lif->stats_when = 0;
	publish(ionic);
	return 0;
}
