/**
 * The metrics of a process as plain data, and how those of several processes become one Prometheus text. prom-client does the
 * adding up and the writing; it is loaded when it is first needed.
 */
import type { Aggregator, MetricObjectWithValues } from 'prom-client'
import { METRICS, type MetricRow } from './metric-rows.ts'
import type { Sample } from './tallies.ts'

type Values = MetricObjectWithValues<{ value: number; labels: object }>

/** All metrics of one process as plain data, which can be sent to another process. Money is in micro-CNY. */
export type Snapshot = Values[]

const MICROS = 1_000_000

export const promClient = () => import('prom-client')

/**
 * How the metrics of Node itself are combined over several processes: prom-client's own choice → ours. We show the
 * greatest where prom-client would average, because one blocked process would be lost in the average lag of idle ones;
 * and the smallest where it would omit the value: the start time is that of the oldest process. What is not listed is
 * summed.
 */
export const AGGREGATORS: Partial<Record<Aggregator, Aggregator>> = {
  average: 'max',
  omit: 'min',
  min: 'min',
  max: 'max',
  first: 'first',
}

export const toValues = ({ name, help, type, aggregator }: MetricRow, values: Sample[]): Values =>
  ({ name, help, type, aggregator, values }) as unknown as Values

const MONEY = (Object.values(METRICS) as MetricRow[]).filter(row => row.money).map(row => row.name)

/** The Prometheus text for several processes together: sums, but the greatest of states, lags and imbalances. */
export async function formatMetrics(snapshots: readonly Snapshot[]): Promise<string> {
  const { AggregatorRegistry } = await promClient()
  const registry = AggregatorRegistry.aggregate(snapshots as Snapshot[])
  for (const name of MONEY) {
    const { values } = registry.getSingleMetric(name) as unknown as Values
    for (const sample of values) sample.value /= MICROS
  }
  return registry.metrics()
}
