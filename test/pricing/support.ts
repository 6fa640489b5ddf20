/** Models, groups and requests for tests of prices, with what most of them do not care about filled in. */
import { compileTariff, type HeldRequest, type Tariff } from '../../lib/pricing/tariff.ts'
import { textOnly } from '../../lib/protocols/requests/facts.ts'
import { MODEL_DEFAULTS } from '../../lib/catalog-file/schema.ts'
import { noUsage, type Usage } from '../../lib/protocols/words/usage.ts'
import type { Group, Model, Price } from '../../lib/terms/records.ts'

export const MILLION = 1_000_000

export const model = (price: Price | null, change: Partial<Model> = {}): Model => ({
  name: 'm',
  price,
  maxOutput: null,
  defaultOutput: 4096,
  inputFactor: 1_100_000,
  ...MODEL_DEFAULTS,
  ...change,
})

export const group = (multiplier = MILLION): Group => ({
  name: 'g',
  multiplier,
  rate: null,
  hedgeMs: 0,
  readOns: 256,
  public: false,
})

export function tariff(price: Price, change: Partial<Model> = {}, multiplier = MILLION): Tariff {
  const compiled = compileTariff(model(price, change), group(multiplier), 7)
  if (compiled === null) throw new Error('not priced')
  return compiled
}

export const cny = (amount: number): number => Math.round(amount * MILLION)

export const used = (change: Partial<Usage>): Usage => ({ ...noUsage(), ...change })

export const request = (change: Partial<HeldRequest> = {}): HeldRequest => ({
  prompt: textOnly(0),
  maxOutput: 0,
  besideOutput: 0,
  n: 1,
  drawingTools: 0,
  maxToolCalls: null,
  searches: { uses: 0, unlimited: 0 },
  advisors: [],
  cacheTtl: null,
  protocol: 'chat',
  ...change,
})
