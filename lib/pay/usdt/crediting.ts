/**
 * From a deposit in a final block to the balance: the node that did not report it must say the same of its transaction, for a
 * node alone could print money. Then the deposits of an account are credited as soon as together they are worth the minimum.
 */
import { raise } from '../exceptions.ts'
import type { UsdtConfig } from '../../config/pay-schema.ts'
import { inForce } from '../../operations/deps.ts'
import { StoreConflict } from '../../store/base/errors.ts'
import { type Deposit, depositReference } from '../../terms/deposits.ts'
import type { PayTallies } from '../../terms/tallies.ts'
import type { PayMarks } from '../health.ts'
import { type PayDeps, provider } from '../exceptions.ts'
import type { Chain } from './chain.ts'

const BATCH = 50
/** Deposits that the node is asked about at once. One that does not answer takes ten seconds for each. */
const AT_ONCE = 10
/** With a question every few seconds, a node that is only behind has caught up long before. */
const MANY_CHECKS = 100
/** How often all accounts are looked at that have something waiting: another process may have left one undone, and died. */
const ALL_EVERY_MS = 10 * 60_000
/** Held deposits, and exceptions, that are looked at when a process begins. */
const MOST_HELD = 1_000

export class Crediting {
  readonly #deps: UsdtDeps
  readonly #chains: readonly Chain[]
  /** Accounts with something new; null = any may have. */
  #accounts: Set<number> | null = null
  /** When all were looked at last, by a clock that never jumps. */
  #allAt = Number.NEGATIVE_INFINITY

  constructor(deps: UsdtDeps, chains: readonly Chain[]) {
    this.#deps = deps
    this.#chains = chains
  }

  /** Another process may have left anything undone. */
  forget(): void {
    this.#accounts = null
  }

  async round(): Promise<void> {
    const { store, config, clock } = this.#deps
    const known = clock.monotonic() - this.#allAt < ALL_EVERY_MS ? this.#accounts : null
    // Where the store's answer gets lost, any account may have got a rate.
    this.#accounts = null
    if ((await store.chain.fixRates()) === 0) this.#accounts = known
    let failed: unknown = null
    const unconfirmed = await store.chain.unconfirmed(config.chain_id, BATCH)
    while (unconfirmed.length > 0)
      await Promise.all(
        unconfirmed.splice(0, AT_ONCE).map(deposit =>
          this.#confirm(deposit).catch(error => {
            failed ??= error
          }),
        ),
      )
    const all = this.#accounts === null
    if (all) await this.#tellOfHeld()
    const accounts = this.#accounts ?? (await store.chain.waitingAccounts(config.chain_id))
    for (const id of accounts) await this.credit(id, config.minimum)
    this.#accounts = new Set()
    if (all) this.#allAt = clock.monotonic()
    if (failed !== null) throw failed
  }

  /** A process that held a deposit may have died before a person was told. */
  async #tellOfHeld(): Promise<void> {
    const { store, config } = this.#deps
    const held = await store.chain.deposits({ state: 'held', limit: MOST_HELD })
    if (held.length === 0) return
    const open = await store.pay.exceptions({ method: 'usdt', open: true, limit: MOST_HELD })
    const told = new Set(open.map(({ transactionId }) => transactionId))
    for (const deposit of held)
      if (deposit.chainId === config.chain_id && !told.has(deposit.tx))
        await this.#tellHeld(deposit, 'it is held until a person decides')
  }

  async #confirm(deposit: Deposit): Promise<void> {
    const { store } = this.#deps
    const other = this.#chains.find(({ node }) => node !== deposit.node) as Chain
    await other.prove()
    const said = await other.confirms(deposit)
    if (said === 'same') {
      this.#accounts?.add(deposit.accountId) // first, because the store's answer may get lost
      await store.chain.confirmDeposit(deposit.id)
      return
    }
    await store.chain.depositChecked(deposit.id)
    if (said === 'other')
      await this.#raise(deposit, `node ${deposit.node} reports it, and node ${other.node} contradicts`)
    else if (deposit.checks >= MANY_CHECKS)
      await this.#raise(deposit, `node ${deposit.node} reports it, and node ${other.node} does not know it`)
  }

  /** What was said of it before, when it could not be confirmed, may be closed. */
  #tellHeld(deposit: Deposit, what: string): Promise<void> {
    return this.#raise(deposit, what, 'held:')
  }

  async #raise(deposit: Deposit, what: string, prefix = ''): Promise<void> {
    const reference = prefix + depositReference(this.#deps.config.chain_id, deposit)
    await raise(this.#deps, {
      method: 'usdt',
      kind: 'chain',
      reference,
      transactionId: deposit.tx,
      detail: `deposit ${deposit.id}: ${what}; it is not credited`,
    })
  }

  /** Credits what an account has waiting, if it is worth the minimum. `reason`: why somebody credits it by hand. */
  async credit(
    accountId: number,
    minimum: UsdtDeps['config']['minimum'],
    act = provider('usdt', 'deposits.credit'),
    reason?: string,
  ) {
    const { store, counts, clock, config } = this.#deps
    const all: Deposit[] = []
    for (;;) {
      const credit = store.chain.creditDeposits(config.chain_id, accountId, minimum, act, reason)
      const done = await credit.catch(async error => {
        if (!(error instanceof StoreConflict)) throw error
        const detail = `deposits of account ${accountId} do not fit into its balance`
        await raise(this.#deps, { method: 'usdt', kind: 'conflict', reference: `account:${accountId}`, detail })
        return { credited: [], held: [] }
      })
      for (const deposit of done.held)
        await this.#tellHeld(deposit, 'it is worth too much, or its entry exists already')
      for (const { blockAtMs } of done.credited) counts.credited('usdt', Math.max(0, clock.now() - blockAtMs))
      all.push(...done.credited)
      if (done.credited.length + done.held.length === 0) break
    }
    if (all.length > 0) await inForce(this.#deps)
    return all
  }
}

export interface UsdtDeps extends PayDeps {
  marks: Pick<PayMarks, 'note'>
  counts: PayTallies
  config: UsdtConfig
}
