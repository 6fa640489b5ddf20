/**
 * Operations on accounts: list, show, create, change. A row that is returned shows money in CNY as a decimal, the
 * way people write it in the catalogue file.
 */
import * as kind from '../../config/scalars.ts'
import { z } from 'zod'
import { type Micro, ZERO, add, formatMicro, parseMicro, subtract } from '../../base/money.ts'
import { catalogSchema } from '../../catalog-file/schema.ts'
import { limit, rate } from '../../config/scalars.ts'
import type { AccountChange } from '../../store/accounts/accounts.ts'
import { accountPurse } from '../../store/books/purses.ts'
import { showLimit, type Account } from '../../terms/records.ts'
import type { Actor } from '../../base/people.ts'
import { act, entryActor, type OperationDeps, inForce } from '../deps.ts'
import { accountNamed, checkGroups } from '../lookups.ts'
import { withoutNulls, type Sent, read } from '../read.ts'
import { moneyText, moneyOrNull, nextOf, pageFields, toPage } from '../fields.ts'
import { firstLimit, limitChange, renewals } from './limits.ts'

export const accountForm = catalogSchema.shape.accounts.unwrap().element

export const accountsQuery = z.strictObject(pageFields)

export const accountChangeForm = z.strictObject({
  status: kind.oneOf('active', 'banned').optional(),
  groups: z.array(kind.name).optional(),
  rate: rate.nullable().optional(),
  budget: limit.nullable().optional(),
})

export const balanceAnswer = z
  .strictObject({ balance: moneyText, held: moneyText, available: moneyText, low_balance: moneyText.nullable() })
  .meta({ id: 'Balance' })
export type BalanceAnswer = z.output<typeof balanceAnswer>

export const lowBalanceForm = z.strictObject({
  amount: kind
    .scalar(
      { zh: '不小于0的金额，最多6位小数', en: 'an amount of CNY, 0 or more, with at most 6 decimal places' },
      { type: 'string' },
      (value): Micro | undefined => {
        const amount = typeof value === 'string' ? parseMicro(value) : null
        return amount === null || amount < 0 ? undefined : amount
      },
    )
    .nullable(),
})
export const lowBalanceAnswer = z.strictObject({ low_balance: moneyText.nullable() })

export class Accounts {
  readonly #deps: OperationDeps

  constructor(deps: OperationDeps) {
    this.#deps = deps
  }

  async list(filter: Sent) {
    const { store, fleet } = this.#deps
    await fleet.settled()
    const form = read(accountsQuery, filter)
    const accounts = await store.accounts.page(toPage(form))
    return { data: await this.#show(accounts), next: nextOf(accounts, form.limit) }
  }

  async one(name: string) {
    const { store, fleet } = this.#deps
    await fleet.settled()
    return this.#showOne(await accountNamed(store, name))
  }

  async create(sent: Sent, actor: Actor) {
    const { store, fleet } = this.#deps
    await fleet.settled()
    const { name, groups, balance, budget, sandbox } = read(accountForm, withoutNulls(sent))
    await checkGroups(store, 'groups', groups)
    const opening = { amount: balance ?? ZERO, actor: entryActor(actor) }
    const made = { name, groups, opening, budget: firstLimit(budget), sandbox }
    const row = await this.#showOne(await store.accounts.create(made, act(actor, 'accounts.create')))
    await inForce(this.#deps)
    return row
  }

  async change(name: string, sent: Sent, actor: Actor) {
    const { store, fleet } = this.#deps
    await fleet.settled()
    const account = await accountNamed(store, name)
    const { budget, ...rest } = read(accountChangeForm, sent)
    if (rest.groups !== undefined) await checkGroups(store, 'groups', rest.groups)
    const change = {
      ...rest,
      budget: budget === undefined ? undefined : await limitChange(this.#deps, account.budget, budget),
    } as AccountChange // the store leaves alone what is undefined
    const row = await this.#showOne(await store.accounts.update(account.id, change, act(actor, 'accounts.change')))
    await inForce(this.#deps)
    return row
  }

  /** For the people of the account: its balance, and the balance below which they want to be warned. */
  async balance({ id }: Account): Promise<BalanceAnswer> {
    const { store, fleet } = this.#deps
    await fleet.settled()
    const balances = await balancesOf(this.#deps, [id])
    return { ...shownBalance(balances(id)), low_balance: moneyOrNull(await store.accounts.lowBalance(id)) }
  }

  /** `amount`: null = nobody is warned. */
  async setLowBalance({ id }: Account, amount: Micro | null, actor: Actor) {
    await this.#deps.store.accounts.setLowBalance(id, amount, act(actor, 'low-balance.set'))
    return { low_balance: moneyOrNull(amount) }
  }

  async #showOne(account: Account) {
    return (await this.#show([account]))[0]!
  }

  /** In a row `balance` is credits − charges, and `held` is what open requests have set aside, on all gateways. */
  async #show(accounts: readonly Account[]) {
    const ids = accounts.map(({ id }) => id)
    const budgets = accounts.map(({ id, budget }) => ({ id, limit: budget }))
    const [balances, renewal] = await Promise.all([balancesOf(this.#deps, ids), renewals(this.#deps, 'b', budgets)])
    return accounts.map(({ id, name, status, groups, rate, budget, sandbox }) => ({
      name,
      status,
      groups,
      ...shownBalance(balances(id)),
      rate,
      budget: showLimit(budget),
      ...renewal(id),
      sandbox,
    }))
  }
}

export interface Balance {
  /** Credits − charges. */
  balance: Micro
  /** The money that open requests have set aside, on all gateways. */
  held: Micro
  available: Micro
  /** The sum of all charges there ever were. */
  spent: Micro
}

export type BalanceDeps = Pick<OperationDeps, 'store'> & { fleet: Pick<OperationDeps['fleet'], 'held' | 'holders'> }

export async function balancesOf({ store, fleet }: BalanceDeps, accountIds: readonly number[]) {
  const ids = accountIds.map(accountPurse)
  const [purses, ours, others] = await Promise.all([
    store.books.purses(ids),
    fleet.held(),
    fleet.holders().then(holders => store.holders.heldByOthers(ids, holders)),
  ])
  const byId = new Map(purses.map(purse => [purse.id, purse]))
  return (accountId: number): Balance => {
    const id = accountPurse(accountId)
    const there = byId.get(id)
    const spent = there?.spent ?? ZERO
    const balance = subtract(there?.credit ?? ZERO, spent)
    const held = add(ours.get(id) ?? ZERO, others.get(id) ?? ZERO)
    return { balance, held, available: subtract(balance, held), spent }
  }
}

export const shownBalance = ({ balance, held, available }: Balance) => ({
  balance: formatMicro(balance),
  held: formatMicro(held),
  available: formatMicro(available),
})
