/**
 * Operations on accounts: list, show, create, change. A row that is returned shows money in CNY as a decimal, the
 * way people write it in the catalogue file.
 */
/** The money of one account, as everybody who may see it sees it. */
import * as kind from '../../config/scalars.ts'
import { z } from 'zod'
import { type Micro, ZERO, add, formatMicro, subtract } from '../../base/money.ts'
import { catalogSchema } from '../../config/catalog-schema.ts'
import { limit } from '../../config/limit-schema.ts'
import { rate } from '../../config/rate.ts'
import { type AccountChange, type PurseId, accountPurse } from '../../store/store.ts'
import { showLimit, type Account } from '../../terms/records.ts'
import type { Actor } from '../../base/people.ts'
import { act, entryActor, type OperationDeps, inForce } from '../deps.ts'
import { accountNamed, checkGroups } from '../lookups.ts'
import { withoutNulls, type Sent, read } from '../read.ts'
import { nextOf, pageFields, toPage } from '../fields.ts'
import { firstLimit, limitChange, renewals } from './limits.ts'

export const accountForm = catalogSchema.shape.accounts.unwrap().element

export const accountsQuery = z.strictObject(pageFields)

export const accountChangeForm = z.strictObject({
  status: kind.oneOf('active', 'banned').optional(),
  groups: z.array(kind.name).optional(),
  rate: rate.nullable().optional(),
  budget: limit.nullable().optional(),
})

export class Accounts {
  readonly #deps: OperationDeps

  constructor(deps: OperationDeps) {
    this.#deps = deps
  }

  async list(filter: Sent) {
    const { store, fleet } = this.#deps
    await fleet.settled()
    const form = read(accountsQuery, filter)
    const accounts = await store.accountPage(toPage(form))
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
    const row = await this.#showOne(await store.createAccount(made, act(actor, 'accounts.create')))
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
    const row = await this.#showOne(await store.updateAccount(account.id, change, act(actor, 'accounts.change')))
    await inForce(this.#deps)
    return row
  }

  async #showOne(account: Account) {
    return (await this.#show([account]))[0]!
  }

  /** In a row `balance` is credits − charges, and `held` is what open requests have set aside, on all gateways. */
  async #show(accounts: readonly Account[]) {
    const { store, fleet } = this.#deps
    const ids = accounts.map(account => accountPurse(account.id))
    const [purses, ours, others, renewal] = await Promise.all([
      store.purses(ids),
      fleet.held(),
      fleet.holders().then(holders => store.heldByOthers(ids, holders)),
      renewals(
        this.#deps,
        'b',
        accounts.map(({ id, budget }) => ({ id, limit: budget })),
      ),
    ])
    const balances = new Map<PurseId, Micro>(purses.map(p => [p.id, subtract(p.credit ?? ZERO, p.spent)]))
    return accounts.map(({ id, name, status, groups, rate, budget, sandbox }) => {
      const purse = accountPurse(id)
      const balance = balances.get(purse) ?? ZERO
      const held = add(ours.get(purse) ?? ZERO, others.get(purse) ?? ZERO)
      const available = subtract(balance, held)
      return {
        name,
        status,
        groups,
        balance: formatMicro(balance),
        held: formatMicro(held),
        available: formatMicro(available),
        rate,
        budget: showLimit(budget),
        ...renewal(id),
        sandbox,
      }
    })
  }
}

export interface Balance {
  /** Credits − charges. */
  balance: Micro
  /** What open requests have set aside, on all gateways. */
  held: Micro
  available: Micro
  /** The sum of all charges there ever were. */
  spent: Micro
}

export type BalanceDeps = Pick<OperationDeps, 'store'> & { fleet: Pick<OperationDeps['fleet'], 'held' | 'holders'> }

export async function balanceOf({ store, fleet }: BalanceDeps, accountId: number): Promise<Balance> {
  const purse = accountPurse(accountId)
  const [[there], ours, others] = await Promise.all([
    store.purses([purse]),
    fleet.held(),
    fleet.holders().then(holders => store.heldByOthers([purse], holders)),
  ])
  const spent = there?.spent ?? ZERO
  const balance = subtract(there?.credit ?? ZERO, spent)
  const held = add(ours.get(purse) ?? ZERO, others.get(purse) ?? ZERO)
  return { balance, held, available: subtract(balance, held), spent }
}
