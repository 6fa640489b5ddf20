/** Tables beside the keys themselves. */
import type { Table } from './tables.ts'

/** Earlier secrets of keys, each with the end of the time in which it still works, by the store's clock. */
export const KEY_SECRETS: Table = {
  name: 'key_secrets',
  columns: { hash: 'code', key_id: 'int', until_ms: 'int' },
  key: ['hash'],
  index: [['key_id']],
}

/** When and from where each key was last used: a table of its own, so that writing it locks no key. */
export const KEY_USES: Table = {
  name: 'key_uses',
  columns: { key_id: 'int', at_ms: 'int', ip: 'code' },
  key: ['key_id'],
}
