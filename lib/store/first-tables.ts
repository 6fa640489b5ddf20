/** The tables of the first version of the schema, as it made them: later migrations change some of them. */
import type { Table } from './tables.ts'

export const FIRST: Table[] = [
  {
    name: 'accounts',
    // archived: the sum of the charges of usage rows that were deleted (see sql/prune.ts).
    columns: { id: 'auto', name: 'name', status: 'code', allowed_groups: 'doc', rate: 'doc?', archived: 'int' },
    key: ['id'],
    unique: [['name']],
  },
  {
    name: 'api_keys',
    columns: {
      id: 'auto',
      account_id: 'int',
      name: 'name',
      hash: 'code',
      hint: 'name',
      group_name: 'name',
      status: 'code',
      expires_at_ms: 'int?',
      cap: 'int?',
      allow_ips: 'doc?',
      models: 'doc?',
      // 0 for a key in use. A deleted key has its own id here, so that the unique indexes free its name and hash.
      deleted: 'int',
    },
    key: ['id'],
    unique: [
      ['hash', 'deleted'],
      ['account_id', 'name', 'deleted'],
    ],
  },
  // promised: all money that ever left the purse, whether it has been charged or is still leased. See sql/books.ts.
  { name: 'purses', columns: { id: 'code', credit: 'int?', promised: 'int' }, key: ['id'] },
  {
    name: 'leases',
    columns: { purse_id: 'code', holder: 'code', amount: 'int', held: 'int', ticket: 'code' },
    key: ['purse_id', 'holder'],
    index: [['holder']],
  },
  { name: 'holders', columns: { id: 'code', host: 'name', beat: 'int' }, key: ['id'] },
  {
    name: 'topups',
    columns: { account_id: 'int', reference: 'name', amount: 'int', at_ms: 'int' },
    key: ['account_id', 'reference'],
  },
  {
    name: 'usage_rows',
    columns: {
      request_id: 'code',
      account_id: 'int',
      key_id: 'int',
      group_name: 'name',
      protocol: 'code',
      model: 'name',
      channel: 'name',
      status: 'int',
      ended: 'code',
      basis: 'code',
      charge: 'int',
      first_byte_ms: 'int?',
      duration_ms: 'int',
      input: 'int',
      cache_read: 'int',
      cache_write_5m: 'int',
      cache_write_1h: 'int',
      output: 'int',
      images: 'int',
    },
    key: ['request_id'],
    // The first index contains `charge`, so that the audit sums charges without reading the rows.
    index: [
      ['account_id', 'request_id', 'charge'],
      ['key_id', 'request_id'],
      ['model', 'request_id'],
    ],
  },
  { name: 'catalog_rows', columns: { kind: 'code', name: 'name', doc: 'doc' }, key: ['kind', 'name'] },
  { name: 'changes', columns: { seq: 'int', kind: 'code', ref: 'code' }, key: ['seq'] },
  { name: 'rate_windows', columns: { account_id: 'int', version: 'int', state: 'doc' }, key: ['account_id'] },
]
