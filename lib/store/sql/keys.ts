/**
 * Keys. A key's purse counts all that it spends; a cap for ever is the credit of that purse (see `limit-purses.ts`).
 * A deleted key keeps its row, because usage rows refer to it by id.
 */
import { publicId } from '../../base/ids.ts'
import type { Act } from '../../base/people.ts'
import type { Key } from '../../terms/records.ts'
import { type Driver, DuplicateKey, type Param, type Statements } from '../driver.ts'
import {
  accountPurse,
  type FoundKey,
  type KeyChange,
  type KeyFilter,
  keyPurse,
  type Mark,
  type NewKey,
  StoreConflict,
  StoreFull,
} from '../types.ts'
import { ACCOUNT_COLUMNS, toAccount } from './accounts.ts'
import { recordEdit } from './actions.ts'
import { moveMark } from './applied.ts'
import { readPurses } from './books.ts'
import { recordChange } from './changes.ts'
import { keyPage } from './key-page.ts'
import { aboutKey, KEY_COLUMNS, keyIn, keyValues, lockedKey, noKey, toKey } from './key-rows.ts'
import { claimSecret, recordKeyChange, recordKeyEnd } from './key-secrets.ts'
import { creditForEver, limitChanged, recallAll } from './limit-purses.ts'
import { loggedKey } from './logged.ts'
import { chunks, integer, integerOrNull, marks, padded, text } from './text.ts'

const conflict = (error: unknown): unknown =>
  error instanceof DuplicateKey
    ? new StoreConflict({
        zh: '账户中已有同名密钥，或密钥内容已被使用',
        en: 'the account has a key of this name, or the secret is in use',
      })
    : error

/** The key under its own secret, or under an earlier one that still works. */
const findSql = (now: string): string => {
  const columns = `SELECT ${KEY_COLUMNS}, ${ACCOUNT_COLUMNS}`
  const account = 'JOIN accounts a ON a.id = k.account_id'
  return (
    `${columns}, NULL AS ends_in_ms FROM api_keys k ${account} WHERE k.hash = ? AND k.deleted = 0 UNION ALL ` +
    `${columns}, s.until_ms - ${now} AS ends_in_ms FROM key_secrets s JOIN api_keys k ON k.id = s.key_id ${account} ` +
    `WHERE s.hash = ? AND s.until_ms > ${now} AND k.deleted = 0`
  )
}

/** The account's row is locked, so that two who make keys at once count each other's. */
async function checkRoom(tx: Statements, accountId: number, most: number): Promise<void> {
  await tx.run('UPDATE accounts SET name = name WHERE id = ?', [accountId])
  const last = 'SELECT id FROM api_keys WHERE account_id = ? AND deleted = 0 ORDER BY id LIMIT 1 OFFSET ?'
  if ((await tx.query(last, [accountId, most - 1])).length > 0)
    throw new StoreFull({
      zh: `账户已有 ${most} 个密钥，不能再创建：请先删除不用的密钥，或请运营人员提高上限`,
      en: `the account has ${most} keys, and no more may be made: delete some that nobody uses, or ask an operator for more`,
    })
}

/** A restriction that is switched off keeps its list, for the day on which it is switched on again. */
function withKeptList<T extends Pick<KeyChange, 'models' | 'modelsOff'>>(change: T, before: Key): T {
  if (change.models === undefined) return change
  return {
    ...change,
    modelsOff: change.models === null ? (change.modelsOff ?? before.models ?? before.modelsOff) : null,
  }
}

export class Keys {
  readonly #driver: Driver

  constructor(driver: Driver) {
    this.#driver = driver
  }

  /** See `Store.findKey`. It takes two statements, or one when there is no such key. */
  async find(hash: string): Promise<FoundKey | null> {
    const sql = findSql(this.#driver.dialect.nowMs)
    const [row] = await this.#driver.query('findKey', sql, [hash, hash])
    if (row === undefined) return null
    const key = toKey(row)
    const account = toAccount(row)
    const statements = {
      query: (text: string, params: readonly Param[]) => this.#driver.query('findKey', text, params),
    }
    const purses = await readPurses(statements, [accountPurse(account.id), keyPurse(key.id)])
    const endsInMs = integerOrNull(row, 'ends_in_ms')
    return { key, account, accountPurse: purses[0]!, keyPurse: purses[1]!, endsInMs }
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

  async page(filter: KeyFilter): Promise<Key[]> {
    return (await this.#driver.query('key', ...keyPage(filter, this.#driver.dialect))).map(toKey)
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

  async create(key: NewKey, act: Act, { mark, most }: { mark?: Mark | undefined; most?: number } = {}): Promise<Key> {
    const outward = publicId()
    const set: [string, Param][] = [
      ['public_id', outward],
      ['account_id', key.accountId],
      ...keyValues(key),
      ['deleted', 0],
    ]
    const names = set.map(([column]) => column).join(', ')
    try {
      return await this.#driver.transaction('createKey', async tx => {
        if (mark !== undefined) await moveMark(tx, this.#driver, mark)
        if (most !== undefined) await checkRoom(tx, key.accountId, most)
        await claimSecret(tx, this.#driver, key.hash, null)
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
        await recordEdit(tx, this.#driver, act, aboutKey(made), null, loggedKey(made))
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
    const before = await lockedKey(tx, id)
    if (before === null) throw noKey(id)
    const set = keyValues({ ...withKeptList(change, before), ...(cap === undefined ? {} : { cap: cap.limit }) })
    if (set.length === 0) return before
    if (change.hash !== undefined) await claimSecret(tx, this.#driver, change.hash, id)
    const assignments = set.map(([column]) => `${column} = ?`).join(', ')
    const values = set.map(([, value]) => value)
    await tx.run(`UPDATE api_keys SET ${assignments} WHERE id = ?`, [...values, id])
    const recalled = cap === undefined ? [] : await limitChanged(tx, this.#driver, 'k', id, cap.limit, cap.atMs)
    const after = (await keyIn(tx, id)) as Key
    await recordEdit(tx, this.#driver, act, aboutKey(after), loggedKey(before), loggedKey(after))
    await recordKeyChange(tx, id, [after.hash, before.hash])
    await recallAll(tx, recalled)
    return after
  }

  /** Sets `deleted` to the key's id, which frees its name and hash for another key. From where it was used is forgotten. */
  delete(id: number, act: Act): Promise<boolean> {
    return this.#driver.transaction('deleteKey', async tx => {
      const key = await lockedKey(tx, id)
      if (key === null) return false
      await tx.run('UPDATE api_keys SET deleted = id WHERE id = ?', [id])
      await tx.run('DELETE FROM key_uses WHERE key_id = ?', [id])
      await recordEdit(tx, this.#driver, act, aboutKey(key), loggedKey(key), null)
      await recordKeyEnd(tx, key)
      return true
    })
  }
}
