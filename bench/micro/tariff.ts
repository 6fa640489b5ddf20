/** lib/pricing: what a charge and an estimate cost at the prices that most models have. */
import { equal } from 'node:assert/strict'
import type * as TariffModule from '../../lib/pricing/tariff.ts'
import { textOnly } from '../../lib/protocols/requests/facts.ts'
import { MODEL_DEFAULTS } from '../../lib/catalog-file/schema.ts'
import { noUsage } from '../../lib/protocols/words/usage.ts'
import type { Bench } from './bench.ts'

const PRICE = {
  input: 21_000_000,
  output: 105_000_000,
  cache_read: 2_100_000,
  cache_write_5m: 26_250_000,
  cache_write_1h: 42_000_000,
}
const MODEL = { name: 'm', maxOutput: 64_000, defaultOutput: 4096, inputFactor: 1_100_000, ...MODEL_DEFAULTS }
const GROUP = { name: 'g', multiplier: 800_000, rate: null, hedgeMs: 0, readOns: 256, public: false }
const REQUEST: TariffModule.HeldRequest = {
  prompt: textOnly(40_000),
  maxOutput: 32_000,
  besideOutput: 0,
  n: 1,
  drawingTools: 0,
  maxToolCalls: null,
  searches: { uses: 0, unlimited: 0 },
  advisors: [],
  cacheTtl: '5m',
  protocol: 'messages',
}

export const bench: Bench = async lib => {
  const { compileTariff } = await lib<typeof TariffModule>('pricing/tariff.ts')
  const tariff = compileTariff({ ...MODEL, price: PRICE }, GROUP) as TariffModule.Tariff
  let output = 0
  const usage = noUsage()
  usage.input = 1200
  usage.cache_read = 60_000
  usage.cache_write_5m = 800
  const charge = () => {
    usage.output = output = (output + 1) % 1000
    return tariff.bill({ usage }).charge
  }
  const estimate = () => {
    REQUEST.maxOutput = 32_000 + (output = (output + 1) % 1000)
    return tariff.estimate(REQUEST)
  }
  return [
    {
      name: 'charge of four classes',
      check: () => equal(tariff.bill({ usage: { ...usage, output: 100 } }).charge, 20_160 + 100_800 + 16_800 + 8400),
      run: charge,
    },
    {
      name: 'estimate of a text',
      check: () => equal(tariff.estimate({ ...REQUEST, maxOutput: 100 }), 231_000 + 8400),
      run: estimate,
    },
  ]
}
