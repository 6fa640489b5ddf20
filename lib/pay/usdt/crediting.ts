/**
 * From an order of a transfer in a final block to the balance: the node that did not report the transfer must say the same of its
 * transaction, for a node alone could print money. That is the proof of the order. Then the paid orders of an account are credited
 * as soon as together they are worth the minimum.
 */
import { createHash } from 'node:crypto'
import type { UsdtConfig } from '../../config/pay-schema.ts'
import type { Deposit } from '../../terms/deposits.ts'
import type { PayTallies } from '../../terms/tallies.ts'
import { type PayDeps, raise } from '../exceptions.ts'
import type { PayMarks } from '../health.ts'
import type { Intake } from '../intake.ts'
import type { Payment } from '../method.ts'
import type { Chain } from './chain.ts'

const BATCH = 50
/** Orders that the node is asked about at once. One that does not answer takes ten seconds for each. */
const AT_ONCE = 10
/** With a question every few seconds, a node that is only behind has caught up long before. */
const MANY_CHECKS = 100
/** How often all accounts are looked at that have something waiting: another process may have left one undone, and died. */
const ALL_EVERY_MS = 10 * 60_000
/** Orders that a person decides about, and exceptions, that are looked at when a process begins. */
const MOST_HELD = 1_000

export interface UsdtDeps extends PayDeps {
  intake: Intake
  marks: Pick<PayMarks, 'note'>
  counts: PayTallies
  config: UsdtConfig
}

/** What a second node proves, as a payment of the order that the first one has made. */
export const paymentOf = (deposit: Deposit): Payment => ({
  kind: 'paid',
  orderId: deposit.id,
  transactionId: deposit.reference,
  amount: deposit.asked,
  currency: deposit.currency,
  merchant: deposit.to,
  providerId: deposit.providerId,
  sandbox: deposit.sandbox,
  paidAtMs: deposit.blockAtMs,
  digest: createHash('sha256').update(`${deposit.reference} ${deposit.block.hash} ${deposit.value}`).digest('hex'),
})

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
    if (all) await this.#tellOfFailed()
    const accounts = this.#accounts ?? (await store.chain.waitingAccounts(config.chain_id))
    for (const id of accounts) await this.#credit(id)
    this.#accounts = new Set()
    if (all) this.#allAt = clock.monotonic()
    if (failed !== null) throw failed
  }

  /** A process that found a transaction in two blocks may have died before a person was told. */
  async #tellOfFailed(): Promise<void> {
    const { store, config } = this.#deps
    const failed = await store.chain.deposits({ state: 'failed', limit: MOST_HELD })
    if (failed.length === 0) return
    const open = await store.pay.exceptions({ method: 'usdt', open: true, limit: MOST_HELD })
    const told = new Set(open.map(({ orderId }) => orderId))
    for (const deposit of failed)
      if (deposit.chainId === config.chain_id && !told.has(deposit.id))
        await this.#raise(deposit, 'it is held until a person decides', 'held:')
  }

  async #confirm(deposit: Deposit): Promise<void> {
    const { store, intake } = this.#deps
    const other = this.#chains.find(({ node }) => node !== deposit.node) as Chain
    await other.prove()
    const said = await other.confirms(deposit)
    if (said === 'same') {
      this.#accounts?.add(deposit.accountId) // first, because the store's answer may get lost
      await intake.take('usdt', paymentOf(deposit), 'chain')
      return
    }
    await store.chain.depositChecked(deposit.id)
    if (said === 'other')
      await this.#raise(deposit, `node ${deposit.node} reports it, and node ${other.node} contradicts`)
    else if (deposit.checks >= MANY_CHECKS)
      await this.#raise(deposit, `node ${deposit.node} reports it, and node ${other.node} does not know it`)
  }

  /** `prefix`: what was said of it before, when it could not be confirmed, may be closed. */
  async #raise({ id: orderId, tx, reference }: Deposit, what: string, prefix = ''): Promise<void> {
    await raise(this.#deps, {
      method: 'usdt',
      kind: 'chain',
      reference: prefix + reference,
      orderId,
      transactionId: tx,
      detail: `${what}; it is not credited`,
    })
  }

  /** Credits what an account has waiting, if it is worth the minimum. */
  async #credit(accountId: number): Promise<void> {
    const { store, intake, config } = this.#deps
    const { due, tooLarge } = await store.chain.markDue(config.chain_id, accountId, config.minimum)
    for (const deposit of tooLarge)
      await this.#raise(deposit, 'it is worth too much to be credited without a person', 'held:')
    for (const id of due) await intake.credit(id)
  }
}
