/** Accounts and their money. */
import { add, formatMicro, type Micro, subtract, ZERO } from '../../base/money.ts'
import { accountPurse, type PurseId } from '../../store/store.ts'
import type { Account } from '../../terms/records.ts'
import { AdminError, type Answer, created, ok } from '../answer.ts'
import type { OpsDeps } from '../server.ts'
import type { Body } from './admin.ts'
import { accountChange, newAccount, topUp } from './forms.ts'
import { accountNamed, checkGroups } from './lookups.ts'
import { withoutNulls } from './nulls.ts'
import { read } from './read.ts'

export class Accounts {
  readonly #deps: OpsDeps

  constructor(deps: OpsDeps) {
    this.#deps = deps
  }

  async list(): Promise<Answer> {
    return ok({ data: await this.#show(await this.#deps.store.accounts()) })
  }

  async one(name: string): Promise<Answer> {
    return ok(await this.#showOne(await accountNamed(this.#deps.store, name)))
  }

  async create(body: Body): Promise<Answer> {
    const { store, clock } = this.#deps
    const { name, groups, balance } = read(newAccount, withoutNulls(body))
    await checkGroups(store, 'groups', groups)
    const opening = { amount: balance ?? ZERO, atMs: clock.now() }
    const account = await store.createAccount({ name, groups, opening })
    return created(await this.#showOne(account))
  }

  async change(name: string, body: Body): Promise<Answer> {
    const { store } = this.#deps
    const { id } = await accountNamed(store, name)
    const change = read(accountChange, body)
    if (change.groups !== undefined) await checkGroups(store, 'groups', change.groups)
    return ok(await this.#showOne(await store.updateAccount(id, change as Partial<Account>)))
  }

  async topUp(name: string, body: Body): Promise<Answer> {
    const { store, clock } = this.#deps
    const account = await accountNamed(store, name)
    const { amount, reference } = read(topUp, body)
    const outcome = await store.topUp(account.id, amount, reference, clock.now())
    if (outcome === 'conflict') throw new AdminError(409, `reference ${reference} has credited another amount already`)
    const { balance } = await this.#showOne(account)
    const credited = { account: name, amount: formatMicro(amount), reference, balance }
    return outcome === 'created' ? created(credited) : ok(credited)
  }

  async #showOne(account: Account) {
    return (await this.#show([account]))[0]!
  }

  /** `balance` is credits − charges; `held` what open requests of all gateways have set aside. */
  async #show(accounts: readonly Account[]) {
    const { store, fleet } = this.#deps
    const ids = accounts.map(account => accountPurse(account.id))
    const [purses, ours, others] = await Promise.all([
      store.purses(ids),
      fleet.held(),
      store.heldByOthers(ids, fleet.holders()),
    ])
    const balances = new Map<PurseId, Micro>(purses.map(p => [p.id, subtract(p.credit ?? ZERO, p.spent)]))
    return accounts.map(({ id, name, status, groups, rate }) => {
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
      }
    })
  }
}
