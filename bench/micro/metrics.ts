/** Bench of lib/terms/metrics.ts: what one request counts when it ends. */
import { deepEqual } from 'node:assert/strict'
import type * as MetricsModule from '../../lib/terms/metrics.ts'
import type { Protocol } from '../../lib/protocols/names.ts'
import type { UsageRow } from '../../lib/terms/usage-row.ts'
import { type Random, withSeed } from '../../test/support/random.ts'
import { usageRow } from '../../test/support/store.ts'
import { MODELS } from '../parts/store-rows.ts'
import type { Bench, Case } from './bench.ts'

const PROTOCOLS: Protocol[] = ['messages', 'chat', 'responses', 'generate']
const KEY = { id: 1, accountId: 1 } as Parameters<typeof usageRow>[1]

/** Usage rows with many different labels, as after a day of traffic. */
const rowsOf = (random: Random): UsageRow[] =>
  Array.from({ length: 256 }, (_, i) =>
    usageRow(`request-${i}`, KEY, random.int(1, 900), { model: random.pick(MODELS), protocol: random.pick(PROTOCOLS) }),
  )

export const bench: Bench = async (lib, seed) => {
  const { Metrics } = await lib<typeof MetricsModule>('terms/metrics.ts')
  const rows = rowsOf(withSeed(seed))
  const counting = (
    name: string,
    metric: string,
    count: (metrics: MetricsModule.Metrics, row: UsageRow) => void,
  ): Case => {
    const metrics = new Metrics()
    let next = 0
    return {
      name,
      async check() {
        const fresh = new Metrics()
        for (const row of rows) count(fresh, row)
        const values = (await fresh.snapshot()).find(m => (m as { name?: string }).name === metric)?.values ?? []
        const counts = values.filter(v => !('metricName' in v) || String(v.metricName).endsWith('_count'))
        deepEqual(
          counts.reduce((sum, { value }) => sum + value, 0),
          rows.length,
        )
      },
      run() {
        const row = rows[next++ & 255] as UsageRow
        count(metrics, row)
        return row.charge
      },
    }
  }
  return [
    counting('request', 'gateway_requests_total', (m, row) => m.request(row.protocol, row.status, 0.034)),
    counting('first byte', 'gateway_first_byte_seconds', (m, row) => m.firstByte(row.protocol, row.channel, 0.012)),
    counting('settlement', 'gateway_settlements_total', (m, row) => m.settlement(row.model, row)),
    counting('refusal', 'gateway_refusals_total', m => m.refusal('rate')),
  ]
}
