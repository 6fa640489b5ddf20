/** Rows of the table `api_keys`: their columns, their lock, and what the log of actions says of them. */
import type { Key } from '../../terms/records.ts'
import type { NewKey } from '../account-store.ts'
import type { Param, Row, Statements } from '../driver.ts'
import { StoreConflict } from '../types.ts'
import { limitColumns, limitValues, toLimit } from './limit-purses.ts'
import { integer, integerOrNull, jsonOrNull, text, toJson } from './text.ts'

export const KEY_COLUMNS =
  'k.id AS key_id, k.public_id AS key_public_id, k.account_id, k.name AS key_name, k.hash, k.hint, k.group_name, ' +
  'k.status AS key_status, k.expires_at_ms, k.allow_ips, k.models, k.models_off, k.created_by, ' +
  limitColumns('cap')
    .map(c => `k.${c}`)
    .join(', ')

export const toKey = (row: Row): Key => ({
  id: integer(row, 'key_id'),
  publicId: text(row, 'key_public_id'),
  accountId: integer(row, 'account_id'),
  name: text(row, 'key_name'),
  hash: text(row, 'hash'),
  hint: text(row, 'hint'),
  group: text(row, 'group_name'),
  status: text(row, 'key_status') as Key['status'],
  expiresAtMs: integerOrNull(row, 'expires_at_ms'),
  cap: toLimit(row, 'cap'),
  allowIps: jsonOrNull(row, 'allow_ips'),
  models: jsonOrNull(row, 'models'),
  modelsOff: jsonOrNull(row, 'models_off'),
  createdBy: integerOrNull(row, 'created_by'),
})

/** The columns and values of the fields that a change has. */
export function keyValues({ cap, ...change }: Partial<Omit<NewKey, 'accountId'>>): [string, Param][] {
  const listOf = (list: string[] | null | undefined) => (list === undefined ? undefined : toJson(list))
  const all: [string, Param | undefined][] = [
    ['name', change.name],
    ['hash', change.hash],
    ['hint', change.hint],
    ['group_name', change.group],
    ['status', change.status],
    ['expires_at_ms', change.expiresAtMs],
    ...(cap === undefined ? [] : limitValues('cap', cap)),
    ['allow_ips', listOf(change.allowIps)],
    ['models', listOf(change.models)],
    ['models_off', listOf(change.modelsOff)],
    ['created_by', change.createdBy],
  ]
  return all.filter((entry): entry is [string, Param] => entry[1] !== undefined)
}

/** What a line of the log of actions is about. */
export const aboutKey = ({ publicId, accountId }: Key) =>
  ({ subject: { kind: 'key', id: publicId }, accountId }) as const

export const noKey = (id: number): StoreConflict =>
  new StoreConflict({ zh: '没有这个密钥', en: `there is no key with id ${id}` })

const ONE_KEY = `SELECT ${KEY_COLUMNS} FROM api_keys k WHERE k.id = ? AND k.deleted = 0`

export async function keyIn(tx: Statements, id: number): Promise<Key | null> {
  const [row] = await tx.query(ONE_KEY, [id])
  return row === undefined ? null : toKey(row)
}

/**
 * The row is locked before it is read. Otherwise two changes of a secret at once could both read the first secret, and
 * no process would hear that the one in between is no longer valid.
 */
export async function lockedKey(tx: Statements, id: number): Promise<Key | null> {
  await tx.run('UPDATE api_keys SET name = name WHERE id = ?', [id])
  return keyIn(tx, id)
}
