/**
 * Writes accounts of a catalogue file, and knows the stored ones by name for the keys that follow. The opening balance
 * is credited only when the account is created, in the same transaction: an edit of it in the file credits nothing
 * later.
 */
import { isDeepStrictEqual } from 'node:util'
import type { Clock } from '../../base/clock.ts'
import { ZERO } from '../../base/money.ts'
import { type Store, StoreConflict } from '../../store/store.ts'
import type { CatalogAccount } from '../../config/catalog-rows.ts'
import { sameLimit } from '../../terms/limits.ts'
import { FILE } from '../../terms/people.ts'
import type { Account } from '../../terms/records.ts'
import { act, entryActor } from '../acts.ts'
import { firstLimit, limitChange } from '../caps-and-budgets.ts'
import { createdHere, movedMark, type Outcome, type RowChange, rememberMark } from './changes.ts'

export class AccountWriter {
  readonly #store: Store
  readonly #clock: Clock
  readonly #stored: Map<string, Account>

  /** `stored`: the accounts that the store has, by name. */
  constructor(store: Store, clock: Clock, stored: ReadonlyMap<string, Account>) {
    this.#store = store
    this.#clock = clock
    this.#stored = new Map(stored)
  }

  async write(row: CatalogAccount, { mark, row: isNew }: RowChange): Promise<Outcome> {
    const { name, groups, balance, budget, sandbox = false } = row
    let account = this.#stored.get(name) ?? null
    if (account === null) {
      const opening = { amount: balance ?? ZERO, actor: entryActor(FILE) }
      const made = { name, groups, opening, budget: firstLimit(budget), sandbox }
      const created = await createdHere(this.#store.createAccount(made, act(FILE, 'accounts.create'), movedMark(mark)))
      account = created ?? (await this.#store.accountByName(name))
      if (account === null) throw new StoreConflict(`account ${name} came and went while the catalogue was applied`)
      this.#stored.set(name, account)
      if (created !== null) return 'created'
    }
    const sameBudget = sameLimit(account.budget, budget)
    const same = isDeepStrictEqual(account.groups, groups) && sameBudget
    if (same || !isNew) {
      await rememberMark(this.#store, mark)
      return same ? 'same' : 'kept'
    }
    const deps = { store: this.#store, clock: this.#clock }
    const change = sameBudget ? { groups } : { groups, budget: await limitChange(deps, account.budget, budget) }
    const changed = await this.#store.updateAccount(account.id, change, act(FILE, 'accounts.change'), movedMark(mark))
    this.#stored.set(name, changed)
    return 'updated'
  }

  /** The id of the account with this name. It may have been created by another gateway a moment ago. */
  async idOf(name: string): Promise<number> {
    const account = this.#stored.get(name) ?? (await this.#store.accountByName(name))
    if (account === null) throw new StoreConflict(`there is no account ${name}`)
    this.#stored.set(name, account)
    return account.id
  }
}
