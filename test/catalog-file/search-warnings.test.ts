/** Whose requests lose the search that they offer, as `check` says it. */
import t from 'tap'
import { parseCatalog, searchWarnings } from '../../lib/catalog-file/catalog.ts'

const PRICE = { input: 1, output: 2 }
const warnings = (models: Record<string, object>, channel: object, served: object) =>
  searchWarnings(
    parseCatalog(
      JSON.stringify({
        models: Object.entries(models).map(([name, price]) => ({ name, price })),
        channels: [
          { name: 'c', base_url: 'https://up.example', key: 'k', groups: ['default'], models: served, ...channel },
        ],
      }),
      'catalog',
      {},
    ),
  )

t.test('models without a price for searches', async t => {
  const messages = { protocols: ['messages'] }
  const cut = (names: string) =>
    `${names}: no price web_search, so a search that a client only offers is left out of its request (0: it is free)`
  const rows: [models: Record<string, object>, channel: object, served: object, ...said: string[]][] = [
    [{ a: PRICE, b: { ...PRICE, web_search: 0 }, c: PRICE }, messages, { a: 'a', b: 'b' }, cut('model a')],
    [{ a: PRICE, b: PRICE }, { protocols: ['chat', 'responses'] }, { a: 'x', b: 'y' }, cut('models a, b')],
    [{ a: PRICE }, { protocols: ['chat', 'images'] }, { a: 'a' }],
    [{ a: PRICE }, { ...messages, status: 'disabled' }, { a: 'a' }],
    [
      { a: PRICE },
      { protocols: ['chat'] },
      { a: 'v/a:online' },
      "model a: refused, because the upstream's name ends with :online and there is no price web_search",
    ],
    [{ a: { ...PRICE, web_search: 0.1 } }, messages, { a: 'v/a:online' }],
  ]
  for (const [models, channel, served, ...said] of rows) t.strictSame(warnings(models, channel, served), said)
  const many = Object.fromEntries(Array.from({ length: 25 }, (_, i) => [`m${i}`, PRICE]))
  const served = Object.fromEntries(Object.keys(many).map(name => [name, name]))
  t.match(warnings(many, messages, served)[0], /^models m0, .*m19 and 5 more: /)
})
