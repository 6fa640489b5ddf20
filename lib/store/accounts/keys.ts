/**
 * KeyStore. A key's purse counts all that it spends; a cap for ever is the credit of that purse (see `books/purses.ts`).
 * A deleted key keeps its row, because usage rows refer to it by id.
 */
import { isoOrNull } from '../../base/clock.ts'
import type { Account, Key } from '../../terms/records.ts'
import type { Micro } from '../../base/money.ts'
import { type Act, MAKES_KEYS, type Role } from '../../base/people.ts'
import { type FileDigests, moveDigests } from '../catalogue/applied.ts'
import { type Purse, accountPurse, creditForEver, keyPurse, limitChanged, recallAll } from '../books/purses.ts'
import { type KeyFilter, type KeyPlace, keyPage, keyTotals } from './key-list.ts'
import {
  type HashedSecret,
  KEY_COLUMNS,
  type NewKey,
  aboutKey,
  claimSecret,
  endOldSecrets,
  keyIn,
  keyValues,
  lockedKey,
  loggedKey,
  noKey,
  oldHashes,
  recordKeyChange,
  recordKeyEnd,
  keyOf,
} from './key-rows.ts'
import { asConflict, type Driver, type Param, type Row, type Transaction } from '../base/driver.ts'
import { chunks, integer, integerOrNull, binds, money, padded, text } from '../base/text.ts'
import { publicId } from '../../base/ids.ts'
import { StoreConflict, StoreFull, StoreUnavailable } from '../base/errors.ts'
import { ACCOUNT_COLUMNS, accountOf, type LimitChange } from './accounts.ts'
import { checkActor, recordAction, recordEdit } from '../base/actions.ts'
import { readPurses } from '../books/books.ts'
import { recordChange, recordChanges } from '../base/changes.ts'

export type KeyChange = Partial<Omit<NewKey, 'accountId' | 'cap'> & { cap: LimitChange }>

/** When and from which address a key was last used. */
export interface KeyUse {
  keyId: number
  atMs: number
  ip: string
}

export interface FoundKey {
  key: Key
  account: Account
  keyPurse: Purse
  accountPurse: Purse
  endsInMs: number | null
}

/** What a key is called, also a deleted one. */
export interface KeyLabel {
  id: number
  publicId: string
  name: string
  deleted: boolean
}

const keyTaken = asConflict({
  zh: '账户中已有同名密钥，或密钥内容已被使用',
  en: 'the account has a key of this name, or the secret is in use',
})

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
async function checkRoom(tx: Transaction, accountId: number, most: number): Promise<void> {
  await tx.run('UPDATE accounts SET name = name WHERE id = ?', [accountId])
  const last = 'SELECT id FROM api_keys WHERE account_id = ? AND deleted = 0 ORDER BY id LIMIT 1 OFFSET ?'
  if ((await tx.query(last, [accountId, most - 1])).length > 0)
    throw new StoreFull({
      zh: `账户已有 ${most} 个密钥，不能再创建：请先删除不用的密钥，或请运营方提高上限`,
      en: `the account has ${most} keys, and no more may be made: delete some that nobody uses, or ask an operator for more`,
    })
}

/**
 * Who leaves an account keeps the token by which keys of it are made and changed. The row of the account or of the key is locked, so that
 * whoever removes somebody finds the key that was changed meanwhile.
 */
async function checkKeeper(tx: Transaction, accountId: number, { actor: { by, userId } }: Act): Promise<void> {
  if (by === undefined || by.tokenId === null) return
  const [row] = await tx.query(ROLE, [userId, accountId])
  if (row !== undefined && MAKES_KEYS.includes(text(row, 'role') as Role)) return
  const operator = 'SELECT id FROM users WHERE id = ? AND operator = 1'
  if ((await tx.query(operator, [userId])).length === 0)
    throw new StoreConflict({ zh: '您已不能管理此账户的密钥', en: 'you may not change keys of the account any more' })
}

const ROLE = 'SELECT role FROM members WHERE user_id = ? AND account_id = ?'

/** A restriction that is switched off keeps its list, for the day on which it is switched on again. */
function withKeptList<T extends Pick<KeyChange, 'models' | 'modelsOff'>>(change: T, before: Key): T {
  if (change.models === undefined) return change
  return {
    ...change,
    modelsOff: change.models === null ? (change.modelsOff ?? before.models ?? before.modelsOff) : null,
  }
}

/** A look-up that waits until the one under way has ended. */
interface Waiting {
  hash: string
  resolve(found: FoundKey | null | Promise<FoundKey | null>): void
  reject(error: unknown): void
}

/** A look-up that takes longer holds up no others: its connection may be dead. */
const PATIENCE_MS = 100
const EXISTING = (count: number): string =>
  ['api_keys', 'key_secrets']
    .map(table => `SELECT hash FROM ${table} WHERE hash IN (${binds(count)})`)
    .join(' UNION ALL ')

/** The most look-ups that are gathered; one more is refused, because whoever asks can be told to come again. */
const MOST_WAITING = 10_000

export class KeyStore {
  readonly #driver: Driver
  #isFinding = false
  #waiting: Waiting[] = []

  constructor(driver: Driver) {
    this.#driver = driver
  }

  /**
   * `hash`: of the key's secret, or of an earlier secret of it that still works. `endsInMs`: when that one stops
   * working, from now on by the store's clock; null = it does not. Where many are asked for at once, one statement tells which
   * of them there are: a flood of invented keys then costs a few statements, and not one each.
   */
  find(hash: string): Promise<FoundKey | null> {
    if (!this.#isFinding) return this.#alone(this.#read(hash))
    if (this.#waiting.length >= MOST_WAITING)
      return Promise.reject(new StoreUnavailable('too many keys are being looked up'))
    return new Promise((resolve, reject) => this.#waiting.push({ hash, resolve, reject }))
  }

  /** While the work is under way, look-ups are gathered. */
  async #alone<T>(work: Promise<T>): Promise<T> {
    this.#isFinding = true
    let isOver = false
    const next = () => {
      if (!isOver) this.#findWaiting()
      isOver = true
    }
    const timer = setTimeout(next, PATIENCE_MS)
    try {
      return await work
    } finally {
      clearTimeout(timer)
      next()
    }
  }

  #findWaiting(): void {
    this.#isFinding = false
    const waiting = this.#waiting
    this.#waiting = []
    if (waiting.length > 0) void this.#alone(this.#findAll(waiting))
  }

  async #findAll(waiting: readonly Waiting[]): Promise<void> {
    try {
      const there = new Set<string>()
      for (const some of chunks(waiting.map(({ hash }) => hash))) {
        const asked = padded(some)
        const rows = await this.#driver.query('findKey', EXISTING(asked.length), [...asked, ...asked])
        for (const row of rows) there.add(text(row, 'hash'))
      }
      for (const { hash, resolve } of waiting) resolve(there.has(hash) ? this.#read(hash) : null)
    } catch (error) {
      for (const { reject } of waiting) reject(error)
    }
  }

  async #read(hash: string): Promise<FoundKey | null> {
    const sql = findSql(this.#driver.dialect.nowMs)
    const [row] = await this.#driver.query('findKey', sql, [hash, hash])
    if (row === undefined) return null
    const key = keyOf(row)
    const account = accountOf(row)
    const statements = {
      query: (text: string, params: readonly Param[]) => this.#driver.query('findKey', text, params),
    }
    const purses = await readPurses(statements, [accountPurse(account.id), keyPurse(key.id)])
    const endsInMs = integerOrNull(row, 'ends_in_ms')
    return { key, account, accountPurse: purses[0]!, keyPurse: purses[1]!, endsInMs }
  }

  async #select(where: string, params: Param[]): Promise<Key[]> {
    const sql = `SELECT ${KEY_COLUMNS} FROM api_keys k WHERE k.deleted = 0 ${where}`
    return (await this.#driver.query('key', sql, params)).map(keyOf)
  }

  list(accountId?: number): Promise<Key[]> {
    return accountId === undefined
      ? this.#select('ORDER BY k.id', [])
      : this.#select('AND k.account_id = ? ORDER BY k.id', [accountId])
  }

  /** `q` is looked for in the names and the hints of keys. */
  async page(filter: KeyFilter): Promise<Key[]> {
    return (await this.placed(filter)).map(({ key }) => key)
  }

  /** A page of keys, each with the place in the list behind which the next page can begin. */
  async placed(filter: KeyFilter): Promise<{ key: Key; place: KeyPlace }[]> {
    const rows = await this.#driver.query('key', ...keyPage(filter, this.#driver.dialect))
    return rows.map(row => {
      const key = keyOf(row)
      const place = row['place'] ?? null
      // engines give sums as texts
      const value = filter.order === 'name' || place === null ? (place as string | null) : integer(row, 'place')
      return { key, place: { publicId: key.publicId, value } }
    })
  }

  /** How many keys fit a filter, and what they have spent in all. */
  async totals(filter: Omit<KeyFilter, 'limit'>): Promise<{ keys: number; spent: Micro }> {
    const [row] = await this.#driver.query('key', ...keyTotals(filter, this.#driver.dialect))
    return { keys: integer(row!, 'fitting'), spent: money(row!, 'spent') }
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

  /** The names of keys by id, deleted keys included, because usage rows refer to them. */
  async names(ids: readonly number[]): Promise<Map<number, string>> {
    const names = new Map<number, string>()
    for (const some of chunks([...new Set(ids)])) {
      const asked = padded(some)
      const sql = `SELECT id, name FROM api_keys WHERE id IN (${binds(asked.length)})`
      for (const row of await this.#driver.query('key', sql, asked)) names.set(integer(row, 'id'), text(row, 'name'))
    }
    return names
  }

  /** `most`: StoreFull is thrown when the account has so many keys already. */
  async create(
    key: NewKey,
    act: Act,
    { digests, most }: { digests?: FileDigests | undefined; most?: number } = {},
  ): Promise<Key> {
    const outward = publicId()
    const set: [string, Param][] = [
      ['public_id', outward],
      ['account_id', key.accountId],
      ...keyValues(key),
      ['deleted', 0],
    ]
    const names = set.map(([column]) => column).join(', ')
    const done = this.#driver.transaction('createKey', async tx => {
      if (digests !== undefined) await moveDigests(tx, this.#driver, digests)
      if (most !== undefined) await checkRoom(tx, key.accountId, most)
      await checkActor(tx, act)
      await checkKeeper(tx, key.accountId, act)
      await claimSecret(tx, this.#driver, key.hash, null)
      const { nowMs } = this.#driver.dialect
      const insert = `INSERT INTO api_keys (${names}, created_ms) VALUES (${binds(set.length)}, ${nowMs})`
      const { insertId: id } = await tx.run(
        insert,
        set.map(([, value]) => value),
      )
      await tx.run('INSERT INTO purses (id, credit, promised) VALUES (?, ?, 0)', [keyPurse(id), creditForEver(key.cap)])
      const made = (await keyIn(tx, id)) as Key
      await recordEdit(tx, this.#driver, act, aboutKey(made), null, loggedKey(made))
      await recordChange(tx, 'key', key.hash)
      return made
    })
    return done.catch(keyTaken)
  }

  async update(id: number, change: KeyChange, act: Act, digests?: FileDigests): Promise<Key> {
    const changed = this.#driver.transaction('updateKey', async tx => {
      if (digests !== undefined) await moveDigests(tx, this.#driver, digests)
      return this.#update(tx, id, change, act)
    })
    return changed.catch(keyTaken)
  }

  async #update(tx: Transaction, id: number, { cap, ...change }: KeyChange, act: Act): Promise<Key> {
    await checkActor(tx, act)
    const before = await lockedKey(tx, id)
    if (before === null) throw noKey(id)
    await checkKeeper(tx, before.accountId, act)
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

  /**
   * Sets `deleted` to the key's id, which frees its name and hash for another key. From where it was used is forgotten, and so are its
   * lists of models, because the row stays for ever.
   */
  delete(id: number, act: Act): Promise<boolean> {
    return this.#driver.transaction('deleteKey', async tx => {
      const key = await lockedKey(tx, id)
      if (key === null) return false
      const lists = "models = '[]', models_off = NULL"
      await tx.run(`UPDATE api_keys SET deleted = id, ${lists} WHERE id = ?`, [id])
      await tx.run('DELETE FROM key_uses WHERE key_id = ?', [id])
      await recordEdit(tx, this.#driver, act, aboutKey(key), loggedKey(key), null)
      await recordKeyEnd(tx, key)
      return true
    })
  }

  /** By the ids of keys; a key of another account is not in it. */
  async labels(accountId: number, ids: readonly number[]): Promise<Map<number, KeyLabel>> {
    const labels = new Map<number, KeyLabel>()
    for (const some of chunks([...new Set(ids)])) {
      const asked = padded(some)
      const rows = await this.#driver.query('keyLabels', `${SELECT_LABELS} AND id IN (${binds(asked.length)})`, [
        accountId,
        ...asked,
      ])
      for (const label of rows.map(toLabel)) labels.set(label.id, label)
    }
    return labels
  }

  async labelOf(accountId: number, publicId: string): Promise<KeyLabel | null> {
    const [row] = await this.#driver.query('keyLabelOf', `${SELECT_LABELS} AND public_id = ?`, [accountId, publicId])
    return row === undefined ? null : toLabel(row)
  }

  /** The ids of all keys that a user made in an account, deleted ones too. */
  async idsOf(accountId: number, userId: number): Promise<number[]> {
    const sql = 'SELECT id FROM api_keys WHERE created_by = ? AND account_id = ?'
    return (await this.#driver.query('keyIdsOf', sql, [userId, accountId])).map(row => integer(row, 'id'))
  }

  /** Takes note of uses, a batch of different keys at a time. A use that is older than the one known is dropped. */
  async recordUses(batch: readonly KeyUse[]): Promise<void> {
    const overwrite = this.#driver.dialect.overwrite(['key_id'], ['at_ms', 'ip'])
    const into = { into: 'INSERT INTO key_uses (key_id, at_ms, ip)', row: '(?, ?, ?)', end: overwrite }
    const sorted = [...batch].sort((a, b) => a.keyId - b.keyId)
    for (const some of chunks(sorted)) {
      await this.#driver.transaction('recordKeyUses', async tx => {
        const ids = padded(some.map(use => use.keyId))
        const there = new Map(
          (await tx.query(`${SELECT_USES} (${binds(ids.length)})`, ids)).map(row => [
            integer(row, 'key_id'),
            integer(row, 'at_ms'),
          ]),
        )
        const keys = await tx.query(`${LIVING} (${binds(ids.length)})`, ids)
        const living = new Set(keys.map(row => integer(row, 'id')))
        const newer = some.filter(({ keyId, atMs }) => living.has(keyId) && atMs > (there.get(keyId) ?? -1))
        await tx.insert(
          into,
          newer.map(({ keyId, atMs, ip }) => [keyId, atMs, ip]),
        )
      })
    }
  }

  /** The last uses of those keys that were ever used. */
  async uses(keyIds: readonly number[]): Promise<Map<number, KeyUse>> {
    const uses = new Map<number, KeyUse>()
    for (const some of chunks(keyIds)) {
      const ids = padded(some)
      for (const row of await this.#driver.query('key', `${SELECT_USES} (${binds(ids.length)})`, ids)) {
        const keyId = integer(row, 'key_id')
        uses.set(keyId, { keyId, atMs: integer(row, 'at_ms'), ip: text(row, 'ip') })
      }
    }
    return uses
  }

  /**
   * Gives a key another secret. The one that it has works for `graceMs` more; 0 = it stops at once, and so do all
   * earlier ones. `oldSecretEndsAtMs`: by the store's clock; null = none works any more. Throws StoreConflict also when
   * the key has MOST_OLD_SECRETS already.
   */
  roll(id: number, secret: HashedSecret, graceMs: number, act: Act) {
    return this.#driver.transaction('rollKey', async tx => {
      await checkActor(tx, act)
      const before = await lockedKey(tx, id)
      if (before === null) throw noKey(id)
      await checkKeeper(tx, before.accountId, act)
      const old = await oldHashes(tx, id)
      const endsAtMs = await endOldSecrets(tx, this.#driver, before, graceMs)
      await tx.run('UPDATE api_keys SET hash = ?, hint = ? WHERE id = ?', [secret.hash, secret.hint, id])
      await recordAction(tx, this.#driver, act, {
        ...aboutKey(before),
        before: { hint: before.hint },
        after: {
          hint: secret.hint,
          secret: 'changed',
          old_secret_ends_at: isoOrNull(endsAtMs),
        },
      })
      await recordChanges(tx, 'key', [secret.hash, before.hash, ...old])
      return { key: (await keyIn(tx, id)) as Key, oldSecretEndsAtMs: endsAtMs }
    })
  }
}

const SELECT_LABELS = 'SELECT id, public_id, name, deleted FROM api_keys WHERE account_id = ?'

const toLabel = (row: Row): KeyLabel => ({
  id: integer(row, 'id'),
  publicId: text(row, 'public_id'),
  name: text(row, 'name'),
  deleted: integer(row, 'deleted') !== 0,
})

const SELECT_USES = 'SELECT key_id, at_ms, ip FROM key_uses WHERE key_id IN'

const LIVING = 'SELECT id FROM api_keys WHERE deleted = 0 AND id IN'
