/** Rows of keys and of their earlier secrets, as transactions read, lock and change them. */
import { isoOrNull } from '../../base/clock.ts'
import type { Logged } from '../base/actions.ts'
import type { Table } from '../base/tables.ts'
import { type Key, showLimit } from '../../terms/records.ts'
import type { Driver, Param, Row, Transaction } from '../base/driver.ts'
import { StoreConflict, StoreFull } from '../base/errors.ts'
import { limitColumns, limitValues, toLimit } from '../books/purses.ts'
import { binds, integer, integerOrNull, jsonOrNull, padded, text, toJson } from '../base/text.ts'
import { recordChanges } from '../base/changes.ts'

/** The keys of an account, and those that a user made in it, are each a range of an index in the order of their pages. */
export const BY_ACCOUNT = ['account_id', 'deleted', 'id']
export const BY_CREATOR = ['created_by', 'deleted', 'id']

export const KEY_TABLE: Table = {
  name: 'api_keys',
  columns: {
    id: 'auto',
    public_id: 'code',
    account_id: 'int',
    // By the store's clock.
    created_ms: 'int',
    // The user who made the key.
    created_by: 'int?',
    name: 'name',
    hash: 'code',
    hint: 'name',
    group_name: 'name',
    status: 'code',
    expires_at_ms: 'int?',
    cap: 'int?',
    cap_every: 'code?',
    cap_before: 'code?',
    cap_until_ms: 'int?',
    allow_ips: 'doc?',
    models: 'doc?',
    // The list of a restriction that is switched off.
    models_off: 'doc?',
    // 0 for a key in use. A deleted key has its own id here, so that the unique indexes free its name and hash.
    deleted: 'int',
  },
  key: ['id'],
  unique: [
    ['hash', 'deleted'],
    ['account_id', 'name', 'deleted'],
  ],
  index: [['public_id'], BY_ACCOUNT, BY_CREATOR],
}

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

export type NewKey = Omit<Key, 'id' | 'publicId' | 'createdAtMs'>

/** A secret as the store keeps it. */
export interface HashedSecret {
  hash: string
  hint: string
}

/** The most secrets of one key that may still work beside its own. */
export const MOST_OLD_SECRETS = 5

export const loggedKey = (key: Key): Logged => ({
  shown: {
    name: key.name,
    group: key.group,
    status: key.status,
    expires_at: isoOrNull(key.expiresAtMs),
    cap: showLimit(key.cap),
    allow_ips: key.allowIps,
    models: key.models,
    models_off: key.modelsOff,
    created_by: key.createdBy,
    hint: key.hint,
  },
  secrets: { secret: key.hash },
})

export const KEY_COLUMNS =
  'k.id AS key_id, k.public_id AS key_public_id, k.account_id, k.name AS key_name, k.hash, k.hint, k.group_name, ' +
  'k.status AS key_status, k.expires_at_ms, k.allow_ips, k.models, k.models_off, k.created_ms, k.created_by, ' +
  limitColumns('cap')
    .map(c => `k.${c}`)
    .join(', ')

export const keyOf = (row: Row): Key => ({
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
  createdAtMs: integer(row, 'created_ms'),
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

export async function keyIn(tx: Transaction, id: number): Promise<Key | null> {
  const [row] = await tx.query(ONE_KEY, [id])
  return row === undefined ? null : keyOf(row)
}

/**
 * The row is locked before it is read. Otherwise two changes of a secret at once could both read the first secret, and
 * no process would hear that the one in between is no longer valid.
 */
export async function lockedKey(tx: Transaction, id: number): Promise<Key | null> {
  await tx.run('UPDATE api_keys SET name = name WHERE id = ?', [id])
  return keyIn(tx, id)
}

const FORGET = 'DELETE FROM key_secrets WHERE key_id = ?'

/** The hashes of the earlier secrets of keys, also of those that have ended and are not forgotten yet. */
export async function oldHashes(tx: Transaction, ...keyIds: readonly number[]): Promise<string[]> {
  const ids = padded(keyIds)
  const rows = await tx.query(`SELECT hash FROM key_secrets WHERE key_id IN (${binds(ids.length)}) ORDER BY hash`, ids)
  return rows.map(row => text(row, 'hash'))
}

/** Tells all processes that a key has changed. `hash`: its present secret, or one that it had until now. */
export async function recordKeyChange(tx: Transaction, keyId: number, hashes: readonly string[]): Promise<void> {
  await recordChanges(tx, 'key', [...new Set([...hashes, ...(await oldHashes(tx, keyId))])])
}

/** Tells all processes that a key is deleted, and ends its earlier secrets. */
export async function recordKeyEnd(tx: Transaction, { id, hash }: Key): Promise<void> {
  const hashes = [hash, ...(await oldHashes(tx, id))]
  await tx.run(FORGET, [id])
  await recordChanges(tx, 'key', hashes)
}

/**
 * Makes sure that a secret which a key is to have does not still work for another key. `keyId`: null = the key is new.
 */
export async function claimSecret(
  tx: Transaction,
  { dialect }: Driver,
  hash: string,
  keyId: number | null,
): Promise<void> {
  const sql = `SELECT key_id, CASE WHEN until_ms > ${dialect.nowMs} THEN 1 ELSE 0 END AS works FROM key_secrets WHERE hash = ?`
  const [row] = await tx.query(sql, [hash])
  if (row === undefined) return
  if (integer(row, 'works') === 1 && integer(row, 'key_id') !== keyId) throw new StoreConflict('the secret is in use')
  await tx.run('DELETE FROM key_secrets WHERE hash = ?', [hash])
}

/** Returns when the secret that the key has until now stops working; null = at once, like all before it. */
export async function endOldSecrets(
  tx: Transaction,
  { dialect }: Driver,
  { id, hash }: Key,
  graceMs: number,
): Promise<number | null> {
  if (graceMs === 0) {
    await tx.run(FORGET, [id])
    return null
  }
  await tx.run(`${FORGET} AND until_ms <= ${dialect.nowMs}`, [id])
  const [row] = await tx.query(`SELECT COUNT(*) AS works, ${dialect.nowMs} AS now FROM key_secrets WHERE key_id = ?`, [
    id,
  ])
  if (integer(row!, 'works') >= MOST_OLD_SECRETS)
    throw new StoreFull({
      zh: `该密钥仍有 ${MOST_OLD_SECRETS} 个旧密钥有效：请等待其中一个失效，或将宽限期设为 0 使其全部失效`,
      en: `${MOST_OLD_SECRETS} earlier secrets of the key still work: wait until one ends, or end all with grace 0`,
    })
  const untilMs = integer(row!, 'now') + graceMs
  await tx.run('INSERT INTO key_secrets (hash, key_id, until_ms) VALUES (?, ?, ?)', [hash, id, untilMs])
  return untilMs
}
