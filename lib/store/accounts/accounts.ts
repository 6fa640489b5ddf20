/**
 * AccountStore. One transaction creates an account together with its purse and the entry of its opening balance.
 */
import type { Table } from '../base/tables.ts'
import { type Micro, ZERO, formatMicro } from '../../base/money.ts'
import { type Account, type Limit, type Rate, showLimit } from '../../terms/records.ts'
import type { Act } from '../../base/people.ts'
import { type FileDigests, moveDigests } from '../catalogue/applied.ts'
import { publicId } from '../../base/ids.ts'
import { asConflict, type Driver, type Param, type Row, type Transaction } from '../base/driver.ts'
import { accountPurse, limitChanged, limitColumns, recallAll, toLimit, limitValues } from '../books/purses.ts'
import { StoreConflict } from '../base/errors.ts'
import { recordAction, recordEdit, type Logged } from '../base/actions.ts'
import { recordChange } from '../base/changes.ts'
import { insertEntry } from '../books/entries.ts'
import { contains, integer, json, jsonOrNull, binds, microOrNull, pattern, text, toJson } from '../base/text.ts'

export const ACCOUNTS: Table = {
  name: 'accounts',
  columns: {
    id: 'auto',
    // The random id by which people outside name the account.
    public_id: 'code',
    name: 'name',
    status: 'code',
    allowed_groups: 'doc',
    rate: 'doc?',
    // The limit of spending; `books/purses.ts` says what the three columns that begin with `budget_` mean.
    budget: 'int?',
    budget_every: 'code?',
    budget_before: 'code?',
    budget_until_ms: 'int?',
    // The balance of which the account's people are warned.
    low_balance: 'int?',
    sandbox: 'int?',
    // The sum of the charges of usage rows that were deleted (see sql/prune.ts).
    archived: 'int',
  },
  key: ['id'],
  unique: [['name']],
  index: [['public_id']],
}

export interface NewAccount {
  name: string
  groups: string[]
  /** The opening balance, if any, and who gives it. */
  opening?: { amount: Micro; actor: string }
  budget?: Limit | null
  /** null = the rate of its groups. */
  rate?: Rate | null
  /** Default: false. */
  sandbox?: boolean
}

/** A cap or a budget as it is to become, by `changedLimit`. Periods that ended before `atMs` keep their amounts. */
export interface LimitChange {
  limit: Limit | null
  atMs: number
}

/** A field that is absent or undefined stays as it is. */
export type AccountChange = Partial<Pick<Account, 'status' | 'groups' | 'rate'> & { budget: LimitChange }>

/** A page of accounts or keys, in the order in which they were made. */
export interface PageFilter {
  /** Part of a name, in any case of its letters. */
  q?: string
  /** Only rows with a larger id. */
  afterId?: number
  limit: number
}

const loggedAccount = ({ name, status, groups, rate, budget, sandbox }: Account): Logged => ({
  shown: { name, status, groups, rate, budget: showLimit(budget), sandbox },
})

export const ACCOUNT_COLUMNS = `a.id, a.public_id, a.name, a.status, a.sandbox, a.allowed_groups, a.rate, ${limitColumns(
  'budget',
)
  .map(c => `a.${c}`)
  .join(', ')}`

/** The reference of the entry that credits an account's opening balance. */
const OPENING = 'opening'

export const accountOf = (row: Row): Account => ({
  id: integer(row, 'id'),
  publicId: text(row, 'public_id'),
  name: text(row, 'name'),
  status: text(row, 'status') as Account['status'],
  groups: json(row, 'allowed_groups'),
  rate: jsonOrNull(row, 'rate'),
  budget: toLimit(row, 'budget'),
  sandbox: row['sandbox'] === 1,
})

const about = ({ id, publicId }: Account) => ({ subject: { kind: 'account', id: publicId }, accountId: id }) as const

async function accountIn(tx: Transaction, id: number): Promise<Account> {
  const [row] = await tx.query(`SELECT ${ACCOUNT_COLUMNS} FROM accounts a WHERE a.id = ?`, [id])
  if (row === undefined) throw new StoreConflict(`there is no account with id ${id}`)
  return accountOf(row)
}

/** The account, its purse and its opening balance. Throws DuplicateKey on a taken name. */
export async function insertAccount(
  tx: Transaction,
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
  const insert = `INSERT INTO accounts (${columns.map(([column]) => column).join(', ')}) VALUES (${binds(columns.length)})`
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

export class AccountStore {
  readonly #driver: Driver

  constructor(driver: Driver) {
    this.#driver = driver
  }

  async #select(where: string, params: Param[]): Promise<Account[]> {
    return (await this.#driver.query('account', `SELECT ${ACCOUNT_COLUMNS} FROM accounts a ${where}`, params)).map(
      accountOf,
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
  async create(account: NewAccount, act: Act, digests?: FileDigests): Promise<Account> {
    const made = this.#driver.transaction('createAccount', async tx => {
      if (digests !== undefined) await moveDigests(tx, this.#driver, digests)
      return insertAccount(tx, this.#driver, account, act)
    })
    return made.catch(asConflict(`account ${account.name} exists already`))
  }

  async update(id: number, change: AccountChange, act: Act, digests?: FileDigests): Promise<Account> {
    const set: [string, Param][] = []
    if (change.status !== undefined) set.push(['status', change.status])
    if (change.groups !== undefined) set.push(['allowed_groups', toJson(change.groups)])
    if (change.rate !== undefined) set.push(['rate', toJson(change.rate)])
    const { budget } = change
    if (budget !== undefined) set.push(...limitValues('budget', budget.limit))
    return this.#driver.transaction('updateAccount', async tx => {
      if (digests !== undefined) await moveDigests(tx, this.#driver, digests)
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

  async byId(id: number): Promise<Account | null> {
    const [row] = await this.#driver.query('account', `SELECT ${ACCOUNT_COLUMNS} FROM accounts a WHERE a.id = ?`, [id])
    return row === undefined ? null : accountOf(row)
  }

  /** The balance below which the account's people want to be warned; null = never. */
  async lowBalance(accountId: number): Promise<Micro | null> {
    const tx: Pick<Transaction, 'query'> = { query: (sql, params) => this.#driver.query('lowBalance', sql, params) }
    return microOrNull(await lowRowOf(tx, accountId), 'low_balance')
  }

  setLowBalance(accountId: number, amount: Micro | null, act: Act): Promise<void> {
    return this.#driver.transaction('setLowBalance', async tx => {
      await tx.run('UPDATE accounts SET low_balance = low_balance WHERE id = ?', [accountId])
      const row = await lowRowOf(tx, accountId)
      const before = microOrNull(row, 'low_balance')
      if (before === amount) return
      await tx.run('UPDATE accounts SET low_balance = ? WHERE id = ?', [amount, accountId])
      const subject = { kind: 'account', id: text(row, 'public_id') } as const
      await recordAction(tx, this.#driver, act, {
        subject,
        accountId,
        before: shownLow(before),
        after: shownLow(amount),
      })
    })
  }
}

const READ_LOW = 'SELECT public_id, low_balance FROM accounts WHERE id = ?'
const shownLow = (amount: Micro | null) => ({ low_balance: amount === null ? null : formatMicro(amount) })

async function lowRowOf(tx: Pick<Transaction, 'query'>, accountId: number): Promise<Row> {
  const [row] = await tx.query(READ_LOW, [accountId])
  if (row === undefined) throw new StoreConflict(`no account with id ${accountId}`)
  return row
}
