/** The table of versions of prices. Rows are only ever inserted. */
import type { Table } from './tables.ts'

export const PRICE_VERSIONS: Table = {
  name: 'price_versions',
  columns: {
    // From the counter `prices` of the table `meta`: without gaps, in the order of the commits.
    version: 'int',
    // `model` or `group`.
    kind: 'code',
    name: 'name',
    // By the store's clock; ms since 1970. It never falls from one version to the next.
    at_ms: 'int',
    actor: 'name',
    // How `doc` is to be read; see PRICE_FORMAT.
    format: 'int',
    // A model's price or a group's multiplier; null = from here on there is none, or the row was deleted.
    doc: 'doc?',
  },
  key: ['version'],
  index: [['kind', 'name', 'version'], ['at_ms']],
}

/**
 * The format of prices that this program writes; it reads this one and those before. Whoever gives prices a part that this
 * program would misread raises the number: gateways of an earlier version take a model with such a price for not priced.
 */
export const PRICE_FORMAT = 1
