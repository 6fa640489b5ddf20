import t from 'tap'
import { parseConfig } from '../../lib/config/config.ts'
import { MODEL_DEFAULTS } from '../../lib/catalog-file/schema.ts'
import type { Model, Price } from '../../lib/terms/records.ts'
import { World } from '../../lib/world/world.ts'
import { memoryStore, SETUP } from '../support/store.ts'

const config = parseConfig('{}', 'config', {})
const model = (name: string, price: Price | null): Model => ({
  name,
  price,
  maxOutput: null,
  defaultOutput: 9,
  inputFactor: 1_000_000,
  ...MODEL_DEFAULTS,
})

t.test('a tariff names the version of its price and the multiplier of its group', async t => {
  const store = await memoryStore()
  t.teardown(() => store.close())
  const world = async () => new World(config, await store.catalogue.read())
  await store.catalogue.putModel(model('a', { input: 1 }), SETUP)
  await store.catalogue.putModel(model('b', { input: 1 }), SETUP)
  await store.catalogue.putModel(model('none', null), SETUP)
  await store.catalogue.putGroup(
    { name: 'vip', multiplier: 500_000, rate: null, hedgeMs: 0, readOns: 256, public: false },
    SETUP,
  )
  const old = await world()
  await store.catalogue.putModel(model('a', { input: 2 }), SETUP)
  const now = await world()
  const rows: [World, group: string, model: string, version: number | undefined, multiplier: number | undefined][] = [
    [old, 'default', 'a', 1, 1_000_000],
    [old, 'vip', 'b', 2, 500_000],
    [now, 'vip', 'a', 4, 500_000],
    [now, 'default', 'b', 2, 1_000_000],
    [now, 'default', 'none', undefined, undefined],
    [now, 'default', 'unknown', undefined, undefined],
  ]
  for (const [world, group, name, version, multiplier] of rows) {
    const tariff = world.tariff(group, name)
    t.strictSame([tariff?.priceVersion, tariff?.multiplier], [version, multiplier], `${name} in ${group}`)
  }
})
