/** What every store must do with prices: append a version with each change, and never lose or renumber one. */
import type { Databases } from '../support/databases.ts'
import type { Test } from 'tap'
import type { Store } from '../../lib/store/store.ts'
import { AppliedElsewhere, StoreConflict } from '../../lib/store/base/errors.ts'
import type { FileDigests } from '../../lib/store/catalogue/applied.ts'
import { MODEL_DEFAULTS } from '../../lib/catalog-file/schema.ts'
import type { Group, Model, Price } from '../../lib/terms/records.ts'
import { BY_CLI, BY_FILE, openDriver, SETUP } from '../support/store.ts'

const ALL = { limit: 1_000 }

const model = (name: string, price: Price | null, change: Partial<Model> = {}): Model => ({
  name,
  price,
  maxOutput: null,
  defaultOutput: 4096,
  inputFactor: 1_100_000,
  ...MODEL_DEFAULTS,
  ...change,
})

const group = (name: string, multiplier: number, change: Partial<Group> = {}): Group => ({
  name,
  multiplier,
  rate: null,
  hedgeMs: 0,
  readOns: 256,
  public: false,
  ...change,
})

/** A history, newest first, each version as `number: input price`. */
const history = async (store: Store, name: string) =>
  (await store.catalogue.priceVersions(name, ALL)).map(({ version, value }) => `${version}: ${value.input}`)

const inForce = async (store: Store) => Object.fromEntries((await store.catalogue.read()).priceVersions)

export function priceSuite(t: Test, { pair }: Databases): void {
  const check = (name: string, fn: (t: Test, one: Store, two: Store, url: string) => Promise<void>) =>
    t.test(name, async t => {
      const { one, two, url } = await pair(t, { secret: 'x' })
      await fn(t, one, two, url)
    })

  check('a version is made by each change of a price, and by nothing else', async (t, one, two) => {
    const acts: [what: string, act: () => Promise<unknown>, history: string[]][] = [
      ['a model without price', () => one.catalogue.putModel(model('m', null), SETUP), []],
      ['its first price', () => two.catalogue.putModel(model('m', { input: 1 }), SETUP), ['1: 1']],
      ['the same again', () => one.catalogue.putModel(model('m', { input: 1 }), SETUP), ['1: 1']],
      ['another field', () => one.catalogue.putModel(model('m', { input: 1 }, { maxOutput: 7 }), SETUP), ['1: 1']],
      ['another model takes the next number', () => two.catalogue.putModel(model('n', { input: 1 }), SETUP), ['1: 1']],
      ['and a group', () => two.catalogue.putGroup(group('vip', 500_000), BY_FILE), ['1: 1']],
      ['another price', () => one.catalogue.putModel(model('m', { input: 2 }), BY_FILE), ['4: 2', '1: 1']],
      [
        'part of it',
        () => one.catalogue.putModel(model('m', { input: 2, output: 1 }), BY_CLI),
        ['5: 2', '4: 2', '1: 1'],
      ],
      ['no price', () => one.catalogue.putModel(model('m', null), BY_CLI), ['5: 2', '4: 2', '1: 1']],
      [
        'the one from before',
        () => one.catalogue.putModel(model('m', { input: 1 }), BY_CLI),
        ['7: 1', '5: 2', '4: 2', '1: 1'],
      ],
      ['deleted', () => two.catalogue.deleteModel('m', SETUP), ['7: 1', '5: 2', '4: 2', '1: 1']],
      [
        'made again',
        () => two.catalogue.putModel(model('m', { input: 1 }), SETUP),
        ['9: 1', '7: 1', '5: 2', '4: 2', '1: 1'],
      ],
    ]
    for (const [what, act, versions] of acts) {
      await act()
      t.strictSame(await history(one, 'm'), versions, what)
    }
    t.strictSame(await inForce(two), { m: 9, n: 2 })
    t.match(
      (await one.catalogue.priceVersions('m', ALL)).map(({ actor }) => actor),
      ['token', 'cli', 'cli', 'file', 'token'],
    )
    t.match(await one.catalogue.priceVersions('m', { before: 5, limit: 1 }), [{ version: 4 }])
    t.strictSame(await one.catalogue.priceVersions('nobody', ALL), [])
  })

  check('times: each version ends where the next begins, the last is in force', async (t, one) => {
    for (const input of [1, 2, 3]) await one.catalogue.putModel(model('m', { input }), SETUP)
    const [third, second, first] = await one.catalogue.priceVersions('m', ALL)
    t.equal(third!.untilMs, null)
    t.equal(second!.untilMs, third!.atMs)
    t.equal(first!.untilMs, second!.atMs)
    t.ok(first!.atMs <= second!.atMs && second!.atMs <= third!.atMs && first!.atMs > 1e12)
    await one.catalogue.deleteModel('m', SETUP)
    t.type((await one.catalogue.priceVersions('m', ALL))[0]!.untilMs, 'number', 'a deletion ends it')
  })

  check('the multipliers of a group', async (t, one, two) => {
    await one.catalogue.putGroup(group('vip', 500_000), SETUP)
    await one.catalogue.putGroup(group('vip', 500_000, { hedgeMs: 9 }), SETUP)
    await two.catalogue.putGroup(group('vip', 0), BY_FILE)
    await two.catalogue.deleteGroup('vip', SETUP)
    await two.catalogue.putGroup(group('vip', 0), SETUP)
    const versions = await one.catalogue.multiplierVersions('vip', ALL)
    t.strictSame(
      versions.map(({ version, value, actor }) => [version, value, actor]),
      [
        [4, 0, 'token'],
        [2, 0, 'file'],
        [1, 500_000, 'token'],
      ],
    )
    t.match((await two.catalogue.read()).groups, [{ name: 'vip', multiplier: 0, hedgeMs: 0 }])
  })

  check('what was in force at a moment', async (t, one) => {
    await one.catalogue.putModel(model('b', { input: 1 }), SETUP)
    await one.catalogue.putModel(model('a', { input: 2 }), SETUP)
    await one.catalogue.putGroup(group('vip', 5), SETUP)
    const firstMs = (await one.catalogue.priceVersions('b', ALL))[0]!.atMs
    const now = await one.catalogue.pricesAt(Number.MAX_SAFE_INTEGER)
    t.match(now, [
      { model: 'a', version: 2, value: { input: 2 }, untilMs: null },
      { model: 'b', version: 1, value: { input: 1 } },
    ])
    t.equal(now.length, 2)
    t.strictSame(await one.catalogue.pricesAt(firstMs - 1), [])
    t.equal((await one.catalogue.pricesAt(firstMs)).at(-1)?.model, 'b', 'from that moment on')
    await one.catalogue.deleteModel('a', SETUP)
    await one.catalogue.putModel(model('b', null), SETUP)
    t.strictSame(
      await one.catalogue.pricesAt(Number.MAX_SAFE_INTEGER),
      [],
      'neither a deleted model nor one without price',
    )
  })

  check('many changes at once: one version for each, numbered without gaps, the last in force', async (t, one, two) => {
    const prices = Array.from({ length: 24 }, (_, i) => i + 1)
    await Promise.all(
      prices.map(input => (input % 2 ? one : two).catalogue.putModel(model(`m${input % 3}`, { input }), SETUP)),
    )
    const all = await Promise.all([0, 1, 2].map(i => one.catalogue.priceVersions(`m${i}`, ALL)))
    const numbers = all.flat().map(({ version }) => version)
    t.strictSame(
      numbers.sort((a, b) => a - b),
      prices,
    )
    const { models, priceVersions } = await two.catalogue.read()
    for (const [i, versions] of all.entries()) {
      t.equal(versions.length, 8)
      t.equal(priceVersions.get(`m${i}`), versions[0]!.version)
      t.strictSame(models[i]!.price, versions[0]!.value)
    }
    await Promise.all(prices.map(i => (i % 2 ? one : two).catalogue.putModel(model('same', { input: 7 }), SETUP)))
    t.equal((await one.catalogue.priceVersions('same', ALL)).length, 1, 'of equal changes only the first is one')
  })

  check('an edit works on the row as it is when it is written', async (t, one, two) => {
    await one.catalogue.putModel(model('m', { input: 0 }), SETUP)
    const raise = (store: Store) =>
      store.catalogue.editModel('m', there => ({ ...there!, price: { input: there!.price!.input! + 1 } }), BY_CLI)
    await Promise.all([one, two, one, two, one].map(raise))
    t.equal((await one.catalogue.priceVersions('m', ALL)).length, 6)
    t.strictSame((await two.catalogue.read()).models[0]?.price, { input: 5 })
    const seq = await one.changes.seq()
    await one.catalogue.editModel('m', () => null, BY_CLI)
    await one.catalogue.editModel('none', there => there, BY_CLI)
    t.equal(await one.changes.seq(), seq, 'nothing is written where nothing changes')
    const said = { row: 'r', price: 'p', secret: '' }
    const digests: FileDigests = { kind: 'model', owner: '', name: 'm', before: null, after: said }
    await one.catalogue.putModel(model('m', { input: 8 }), BY_FILE, digests)
    await t.rejects(two.catalogue.putModel(model('m', { input: 9 }), BY_FILE, digests), AppliedElsewhere)
    t.strictSame((await history(one, 'm')).at(0), '7: 8', 'what another process applied first makes no version')
  })

  check('a price in a format of a later version of the program', async (t, one, two, url) => {
    await one.catalogue.putModel(model('m', { input: 1 }), SETUP)
    const driver = openDriver(url)
    t.teardown(() => driver.close())
    await driver.run('test', 'UPDATE price_versions SET format = 2, doc = ?', ['{"per_page":"1"}'])
    const [there] = (await two.catalogue.read()).models
    t.strictSame(there!.price, { format: 2 }, 'nothing of it is taken for a price')
    await two.catalogue.putModel({ ...there!, maxOutput: 9 }, SETUP)
    t.strictSame((await one.catalogue.read()).models, [{ ...there!, maxOutput: 9 }], 'it survives a change of the rest')
    t.strictSame(await inForce(one), { m: 1 })
    await t.rejects(one.catalogue.putModel(model('n', { format: 2 }), SETUP), StoreConflict)
    await two.catalogue.putModel(model('m', { input: 3 }), SETUP)
    t.strictSame(await history(one, 'm'), ['2: 3', '1: undefined'], 'and is replaced by a price of today')
    await driver.run('test', 'UPDATE price_versions SET format = 0 WHERE version = 2', [])
    t.strictSame((await one.catalogue.read()).models[0]?.price, { input: 3 }, 'formats of before are read')
  })
}
