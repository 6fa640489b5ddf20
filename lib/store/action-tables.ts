/** The table of the log of actions. Rows are only ever inserted, each in the transaction of the change that it tells of. */
import type { Table } from './tables.ts'

export const ACTIONS: Table = {
  name: 'actions',
  columns: {
    seq: 'auto',
    at_ms: 'int',
    actor_kind: 'code',
    user_id: 'int?',
    actor_name: 'name',
    ip: 'code?',
    operation: 'code',
    account_id: 'int?',
    subject_kind: 'code',
    subject_id: 'name',
    before_doc: 'doc?',
    after_doc: 'doc?',
  },
  key: ['seq'],
  index: [
    ['account_id', 'seq'],
    ['user_id', 'seq'],
    ['subject_kind', 'subject_id', 'seq'],
  ],
}
