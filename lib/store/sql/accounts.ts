/**
 * Accounts. One transaction creates an account together with its purse and the entry of its opening balance.
 */
import { publicId } from '../../base/ids.ts'
import { ZERO } from '../../base/money.ts'
import type { Account } from '../../terms/records.ts'
import { type Driver, DuplicateKey, type Param, type Row } from '../driver.ts'
import {
  type AccountChange,
  accountPurse,
  type Mark,
  type NewAccount,
  type PageFilter,
  StoreConflict,
} from '../store.ts'
import { moveMark } from './applied.ts'
import { recordChange } from './changes.ts'
import { insertEntry } from './entries.ts'
import { limitChanged, limitColumns, limitValues, recallAll, toLimit } from './limit-purses.ts'
import { contains, integer, json, jsonOrNull, marks, pattern, text, toJson } from './text.ts'

export const ACCOUNT_COLUMNS = `a.id, a.public_id, a.name, a.status, a.allowed_groups, a.rate, ${limitColumns('budget')
  .map(c => `a.${c}`)
  .join(', ')}`

/** The reference of the entry that credits an account's opening balance. */
const OPENING = 'opening'

export const toAccount = (row: Row): Account => ({
  id: integer(row, 'id'),
  publicId: text(row, 'public_id'),
  name: text(row, 'name'),
  status: text(row, 'status') as Account['status'],
  groups: json(row, 'allowed_groups'),
  rate: jsonOrNull(row, 'rate'),
  budget: toLimit(row, 'budget'),
})

export class Accounts {
  readonly #driver: Driver

  constructor(driver: Driver) {
    this.#driver = driver
  }

  async #select(where: string, params: Param[]): Promise<Account[]> {
    return (await this.#driver.query('account', `SELECT ${ACCOUNT_COLUMNS} FROM accounts a ${where}`, params)).map(
      toAccount,
    )
  }

  list(): Promise<Account[]> {
    return this.#select('ORDER BY a.id', [])
  }

  page({ q = '', afterId = 0, limit }: PageFilter): Promise<Account[]> {
    const where = `WHERE a.id > ? AND ${contains('a.name')} ORDER BY a.id LIMIT ?`
    return this.#select(where, [afterId, pattern(q), limit])
  }

  async byId(id: number): Promise<Account | null> {
    return (await this.#select('WHERE a.id = ?', [id]))[0] ?? null
  }

  async byName(name: string): Promise<Account | null> {
    return (await this.#select('WHERE a.name = ?', [name]))[0] ?? null
  }

  async byPublicId(id: string): Promise<Account | null> {
    return (await this.#select('WHERE a.public_id = ?', [id]))[0] ?? null
  }

  /**
   * Creates the account, its purse and its opening balance in one transaction. Throws StoreConflict on a taken name.
   */
  async create({ name, groups, opening, budget = null }: NewAccount, mark?: Mark): Promise<Account> {
    const outward = publicId()
    const columns: [string, Param][] = [
      ['public_id', outward],
      ['name', name],
      ['status', 'active'],
      ['allowed_groups', toJson(groups)],
      ['archived', 0],
      ...limitValues('budget', budget),
    ]
    const insert = `INSERT INTO accounts (${columns.map(([column]) => column).join(', ')}) VALUES (${marks(columns.length)})`
    try {
      return await this.#driver.transaction('createAccount', async tx => {
        if (mark !== undefined) await moveMark(tx, this.#driver, mark)
        const { insertId: id } = await tx.run(
          insert,
          columns.map(([, value]) => value),
        )
        const { amount, actor } = opening ?? { amount: ZERO, actor: '' }
        await tx.run('INSERT INTO purses (id, credit, promised) VALUES (?, ?, 0)', [accountPurse(id), amount])
        const entry = { kind: 'opening', reference: OPENING, amount, actor, note: '' } as const
        if (amount !== 0) await insertEntry(tx, this.#driver, id, entry)
        await recordChange(tx, 'account', String(id))
        return { id, publicId: outward, name, status: 'active', groups: [...groups], rate: null, budget }
      })
    } catch (error) {
      throw error instanceof DuplicateKey ? new StoreConflict(`account ${name} exists already`) : error
    }
  }

  async update(id: number, change: AccountChange, mark?: Mark): Promise<Account> {
    const set: [string, Param][] = []
    if (change.status !== undefined) set.push(['status', change.status])
    if (change.groups !== undefined) set.push(['allowed_groups', toJson(change.groups)])
    if (change.rate !== undefined) set.push(['rate', toJson(change.rate)])
    const { budget } = change
    if (budget !== undefined) set.push(...limitValues('budget', budget.limit))
    return this.#driver.transaction('updateAccount', async tx => {
      if (mark !== undefined) await moveMark(tx, this.#driver, mark)
      if (set.length > 0) {
        const assignments = set.map(([column]) => `${column} = ?`).join(', ')
        await tx.run(`UPDATE accounts SET ${assignments} WHERE id = ?`, [...set.map(([, value]) => value), id])
      }
      const [row] = await tx.query(`SELECT ${ACCOUNT_COLUMNS} FROM accounts a WHERE a.id = ?`, [id])
      if (row === undefined) throw new StoreConflict(`there is no account with id ${id}`)
      const recalled =
        budget === undefined ? [] : await limitChanged(tx, this.#driver, 'b', id, budget.limit, budget.atMs)
      if (set.length > 0) await recordChange(tx, 'account', String(id))
      await recallAll(tx, recalled)
      return toAccount(row)
    })
  }
}
