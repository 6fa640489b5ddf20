/**
 * Keys. A key's purse counts all that it spends; a cap for ever is the credit of that purse (see `limit-purses.ts`).
 * A deleted key keeps its row, because usage rows refer to it by id.
 */
import { publicId } from '../../base/ids.ts'
import type { Act } from '../../terms/people.ts'
import type { Account, Key } from '../../terms/records.ts'
import { type Driver, DuplicateKey, type Param, type Row, type Statements } from '../driver.ts'
import {
  accountPurse,
  type KeyChange,
  keyPurse,
  type Mark,
  type NewKey,
  type PageFilter,
  type Purse,
  StoreConflict,
} from '../store.ts'
import { ACCOUNT_COLUMNS, toAccount } from './accounts.ts'
import { recordEdit } from './actions.ts'
import { moveMark } from './applied.ts'
import { readPurses } from './books.ts'
import { recordChange } from './changes.ts'
import { creditForEver, limitChanged, limitColumns, limitValues, recallAll, toLimit } from './limit-purses.ts'
import { loggedKey } from './logged.ts'
import { chunks, contains, integer, integerOrNull, jsonOrNull, marks, padded, pattern, text, toJson } from './text.ts'

const KEY_COLUMNS =
  'k.id AS key_id, k.public_id AS key_public_id, k.account_id, k.name AS key_name, k.hash, k.hint, k.group_name, k.status AS key_status, ' +
  `k.expires_at_ms, ${limitColumns('cap')
    .map(c => `k.${c}`)
    .join(', ')}, k.allow_ips, k.models`

const toKey = (row: Row): Key => ({
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
})

/** The columns and values of the fields that a change has. */
function columns({ cap, ...change }: Partial<Omit<NewKey, 'accountId'>>): [string, Param][] {
  const all: [string, Param | undefined][] = [
    ['name', change.name],
    ['hash', change.hash],
    ['hint', change.hint],
    ['group_name', change.group],
    ['status', change.status],
    ['expires_at_ms', change.expiresAtMs],
    ...(cap === undefined ? [] : limitValues('cap', cap)),
    ['allow_ips', change.allowIps === undefined ? undefined : toJson(change.allowIps)],
    ['models', change.models === undefined ? undefined : toJson(change.models)],
  ]
  return all.filter((entry): entry is [string, Param] => entry[1] !== undefined)
}

const about = ({ publicId, accountId }: Key) => ({ subject: { kind: 'key', id: publicId }, accountId }) as const

const conflict = (error: unknown): unknown =>
  error instanceof DuplicateKey
    ? new StoreConflict('the account has a key of this name, or the secret is in use')
    : error

const ONE_KEY = `SELECT ${KEY_COLUMNS} FROM api_keys k WHERE k.id = ? AND k.deleted = 0`

/**
 * The row is locked before it is read. Otherwise two changes of a secret at once could both read the first secret, and
 * no process would hear that the one in between is no longer valid.
 */
async function lockedKey(tx: Statements, id: number): Promise<Key | null> {
  await tx.run('UPDATE api_keys SET name = name WHERE id = ?', [id])
  const [row] = await tx.query(ONE_KEY, [id])
  return row === undefined ? null : toKey(row)
}

export class Keys {
  readonly #driver: Driver

  constructor(driver: Driver) {
    this.#driver = driver
  }

  /** See `Store.findKey`. It takes two statements, or one when there is no such key. */
  async find(hash: string): Promise<{ key: Key; account: Account; keyPurse: Purse; accountPurse: Purse } | null> {
    const sql =
      `SELECT ${KEY_COLUMNS}, ${ACCOUNT_COLUMNS} FROM api_keys k JOIN accounts a ON a.id = k.account_id ` +
      'WHERE k.hash = ? AND k.deleted = 0'
    const [row] = await this.#driver.query('findKey', sql, [hash])
    if (row === undefined) return null
    const key = toKey(row)
    const account = toAccount(row)
    const statements = {
      query: (text: string, params: readonly Param[]) => this.#driver.query('findKey', text, params),
    }
    const purses = await readPurses(statements, [accountPurse(account.id), keyPurse(key.id)])
    return { key, account, accountPurse: purses[0]!, keyPurse: purses[1]! }
  }

  async #select(where: string, params: Param[]): Promise<Key[]> {
    const sql = `SELECT ${KEY_COLUMNS} FROM api_keys k WHERE k.deleted = 0 ${where}`
    return (await this.#driver.query('key', sql, params)).map(toKey)
  }

  list(accountId?: number): Promise<Key[]> {
    return accountId === undefined
      ? this.#select('ORDER BY k.id', [])
      : this.#select('AND k.account_id = ? ORDER BY k.id', [accountId])
  }

  page({ q = '', afterId = 0, limit }: PageFilter, accountId?: number): Promise<Key[]> {
    const owner = accountId === undefined ? '' : 'AND k.account_id = ? '
    const where = `AND k.id > ? ${owner}AND (${contains('k.name')} OR ${contains('k.hint')}) ORDER BY k.id LIMIT ?`
    const owners = accountId === undefined ? [] : [accountId]
    return this.#select(where, [afterId, ...owners, pattern(q), pattern(q), limit])
  }

  async byId(id: number): Promise<Key | null> {
    return (await this.#select('AND k.id = ?', [id]))[0] ?? null
  }

  async byPublicId(id: string): Promise<Key | null> {
    return (await this.#select('AND k.public_id = ?', [id]))[0] ?? null
  }

  async byName(accountId: number, name: string): Promise<Key | null> {
    return (await this.#select('AND k.account_id = ? AND k.name = ?', [accountId, name]))[0] ?? null
  }

  async names(ids: readonly number[]): Promise<Map<number, string>> {
    const names = new Map<number, string>()
    for (const some of chunks([...new Set(ids)])) {
      const asked = padded(some)
      const sql = `SELECT id, name FROM api_keys WHERE id IN (${marks(asked.length)})`
      for (const row of await this.#driver.query('key', sql, asked)) names.set(integer(row, 'id'), text(row, 'name'))
    }
    return names
  }

  async create(key: NewKey, act: Act, mark?: Mark): Promise<Key> {
    const outward = publicId()
    const set: [string, Param][] = [
      ['public_id', outward],
      ['account_id', key.accountId],
      ...columns(key),
      ['deleted', 0],
    ]
    const names = set.map(([column]) => column).join(', ')
    try {
      return await this.#driver.transaction('createKey', async tx => {
        if (mark !== undefined) await moveMark(tx, this.#driver, mark)
        const insert = `INSERT INTO api_keys (${names}) VALUES (${marks(set.length)})`
        const { insertId: id } = await tx.run(
          insert,
          set.map(([, value]) => value),
        )
        await tx.run('INSERT INTO purses (id, credit, promised) VALUES (?, ?, 0)', [
          keyPurse(id),
          creditForEver(key.cap),
        ])
        const made: Key = { id, publicId: outward, ...key }
        await recordEdit(tx, this.#driver, act, about(made), null, loggedKey(made))
        await recordChange(tx, 'key', key.hash)
        return made
      })
    } catch (error) {
      throw conflict(error)
    }
  }

  async update(id: number, change: KeyChange, act: Act, mark?: Mark): Promise<Key> {
    try {
      return await this.#driver.transaction('updateKey', async tx => {
        if (mark !== undefined) await moveMark(tx, this.#driver, mark)
        return this.#update(tx, id, change, act)
      })
    } catch (error) {
      throw conflict(error)
    }
  }

  async #update(tx: Statements, id: number, { cap, ...change }: KeyChange, act: Act): Promise<Key> {
    const set = columns({ ...change, ...(cap === undefined ? {} : { cap: cap.limit }) })
    const before = await lockedKey(tx, id)
    if (before === null) throw new StoreConflict(`there is no key with id ${id}`)
    if (set.length === 0) return before
    const assignments = set.map(([column]) => `${column} = ?`).join(', ')
    const values = set.map(([, value]) => value)
    await tx.run(`UPDATE api_keys SET ${assignments} WHERE id = ?`, [...values, id])
    const recalled = cap === undefined ? [] : await limitChanged(tx, this.#driver, 'k', id, cap.limit, cap.atMs)
    const after = toKey((await tx.query(ONE_KEY, [id]))[0]!)
    await recordEdit(tx, this.#driver, act, about(after), loggedKey(before), loggedKey(after))
    await recordChange(tx, 'key', after.hash)
    if (before.hash !== after.hash) await recordChange(tx, 'key', before.hash)
    await recallAll(tx, recalled)
    return after
  }

  /** Sets `deleted` to the key's id, which frees its name and hash for another key. */
  delete(id: number, act: Act): Promise<boolean> {
    return this.#driver.transaction('deleteKey', async tx => {
      const key = await lockedKey(tx, id)
      if (key === null) return false
      await tx.run('UPDATE api_keys SET deleted = id WHERE id = ?', [id])
      await recordEdit(tx, this.#driver, act, about(key), loggedKey(key), null)
      await recordChange(tx, 'key', key.hash)
      return true
    })
  }
}
