/**
 * Accounts. One transaction creates an account together with its purse and the entry of its opening balance.
 */
import { publicId } from '../../base/ids.ts'
import { formatMicro, ZERO } from '../../base/money.ts'
import type { Act } from '../../base/people.ts'
import type { Account } from '../../terms/records.ts'
import { type Driver, DuplicateKey, type Param, type ReadingDriver, type Row, type Statements } from '../driver.ts'
import {
  type AccountChange,
  accountPurse,
  type Mark,
  type NewAccount,
  type PageFilter,
  StoreConflict,
} from '../types.ts'
import { recordAction, recordEdit } from './actions.ts'
import { moveMark } from './applied.ts'
import { recordChange } from './changes.ts'
import { insertEntry } from './entries.ts'
import { limitChanged, limitColumns, limitValues, recallAll, toLimit } from './limit-purses.ts'
import { loggedAccount } from './logged.ts'
import { contains, integer, json, jsonOrNull, marks, pattern, text, toJson } from './text.ts'

export const ACCOUNT_COLUMNS = `a.id, a.public_id, a.name, a.status, a.sandbox, a.allowed_groups, a.rate, ${limitColumns(
  'budget',
)
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
  sandbox: row['sandbox'] === 1,
})

export async function accountById(driver: Pick<ReadingDriver, 'query'>, id: number): Promise<Account | null> {
  const [row] = await driver.query('account', `SELECT ${ACCOUNT_COLUMNS} FROM accounts a WHERE a.id = ?`, [id])
  return row === undefined ? null : toAccount(row)
}

const about = ({ id, publicId }: Account) => ({ subject: { kind: 'account', id: publicId }, accountId: id }) as const

async function accountIn(tx: Statements, id: number): Promise<Account> {
  const [row] = await tx.query(`SELECT ${ACCOUNT_COLUMNS} FROM accounts a WHERE a.id = ?`, [id])
  if (row === undefined) throw new StoreConflict(`there is no account with id ${id}`)
  return toAccount(row)
}

/** The account, its purse and its opening balance. Throws DuplicateKey on a taken name. */
export async function insertAccount(
  tx: Statements,
  driver: Driver,
  { name, groups, opening, budget = null, rate = null, sandbox = false }: NewAccount,
  act: Act,
): Promise<Account> {
  const outward = publicId()
  const columns: [string, Param][] = [
    ['public_id', outward],
    ['name', name],
    ['status', 'active'],
    ['allowed_groups', toJson(groups)],
    ['rate', toJson(rate)],
    ['archived', 0],
    ['sandbox', sandbox ? 1 : 0],
    ...limitValues('budget', budget),
  ]
  const insert = `INSERT INTO accounts (${columns.map(([column]) => column).join(', ')}) VALUES (${marks(columns.length)})`
  const { insertId: id } = await tx.run(
    insert,
    columns.map(([, value]) => value),
  )
  const { amount, actor } = opening ?? { amount: ZERO, actor: '' }
  await tx.run('INSERT INTO purses (id, credit, promised) VALUES (?, ?, 0)', [accountPurse(id), amount])
  const entry = { kind: 'opening', reference: OPENING, amount, actor, note: '' } as const
  if (amount !== 0) await insertEntry(tx, driver, id, entry)
  const made: Account = { id, publicId: outward, name, status: 'active', groups: [...groups], rate, budget, sandbox }
  const after = { ...loggedAccount(made).shown, balance: formatMicro(amount) }
  await recordAction(tx, driver, act, { ...about(made), before: null, after })
  await recordChange(tx, 'account', String(id))
  return made
}

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

  async byName(name: string): Promise<Account | null> {
    return (await this.#select('WHERE a.name = ?', [name]))[0] ?? null
  }

  async byPublicId(id: string): Promise<Account | null> {
    return (await this.#select('WHERE a.public_id = ?', [id]))[0] ?? null
  }

  /** Throws StoreConflict on a taken name. */
  async create(account: NewAccount, act: Act, mark?: Mark): Promise<Account> {
    try {
      return await this.#driver.transaction('createAccount', async tx => {
        if (mark !== undefined) await moveMark(tx, this.#driver, mark)
        return insertAccount(tx, this.#driver, account, act)
      })
    } catch (error) {
      throw error instanceof DuplicateKey ? new StoreConflict(`account ${account.name} exists already`) : error
    }
  }

  async update(id: number, change: AccountChange, act: Act, mark?: Mark): Promise<Account> {
    const set: [string, Param][] = []
    if (change.status !== undefined) set.push(['status', change.status])
    if (change.groups !== undefined) set.push(['allowed_groups', toJson(change.groups)])
    if (change.rate !== undefined) set.push(['rate', toJson(change.rate)])
    const { budget } = change
    if (budget !== undefined) set.push(...limitValues('budget', budget.limit))
    return this.#driver.transaction('updateAccount', async tx => {
      if (mark !== undefined) await moveMark(tx, this.#driver, mark)
      await tx.run('UPDATE accounts SET name = name WHERE id = ?', [id]) // the lock, under which the row is read
      const before = await accountIn(tx, id)
      if (set.length === 0) return before
      const assignments = set.map(([column]) => `${column} = ?`).join(', ')
      await tx.run(`UPDATE accounts SET ${assignments} WHERE id = ?`, [...set.map(([, value]) => value), id])
      const after = await accountIn(tx, id)
      const recalled =
        budget === undefined ? [] : await limitChanged(tx, this.#driver, 'b', id, budget.limit, budget.atMs)
      await recordEdit(tx, this.#driver, act, about(after), loggedAccount(before), loggedAccount(after))
      await recordChange(tx, 'account', String(id))
      await recallAll(tx, recalled)
      return after
    })
  }
}
