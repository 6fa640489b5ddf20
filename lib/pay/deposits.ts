/**
 * What operators do with deposits of USDT. The console, the admin API and the commands lead here; who may do it is for them to
 * check. Every change is logged in the transaction that makes it.
 */
import { z } from 'zod'
import { formatMicro, micro } from '../base/money.ts'
import { inForce } from '../operations/deps.ts'
import { OperationError } from '../operations/error.ts'
import { accountPurse } from '../store/books/purses.ts'
import type { DepositResolved } from '../store/deposit-store.ts'
import { StoreConflict } from '../store/base/errors.ts'
import * as kind from '../config/scalars.ts'
import { DEPOSIT_STATES, type Deposit, type DepositRefund, depositReference } from '../terms/deposits.ts'
import type { Act, Actor } from '../base/people.ts'
import type { Account } from '../terms/records.ts'
import { checksummed } from '../config/xpub.ts'
import { reason, type releaseForm, NO_ACCOUNT } from './admin.ts'
import { refundIdOf } from './numbers.ts'
import { wrong } from './faults.ts'
import type { PaymentsAdminDeps } from './admin.ts'
import { afterRecall } from './refunds.ts'
import { allDeposits, oneDeposit, refundRow, sweepList } from './usdt/all-deposits.ts'
import * as faults from './usdt/faults.ts'
import { tellUnsent } from './usdt/unsent.ts'
import type { Usdt } from './usdt/usdt.ts'

const PAGE = 100
const MOST = 1_000
/** Those that wait to be sent are few. */
const MOST_FROZEN = 1_000

export const depositsFilter = z.strictObject({
  state: kind.oneOf(...DEPOSIT_STATES).optional(),
  limit: kind.whole(1, MOST).prefault(PAGE),
  after: kind.whole(1, Number.MAX_SAFE_INTEGER).optional(),
})

export const rewindForm = z.strictObject({ block: kind.whole(0, 999_999_999_999), reason })

const ADDRESS = /^0x[0-9a-fA-F]{40}$/
const HASH = /^0x[0-9a-fA-F]{64}$/

/** The checksum that an address of both cases carries finds digits that are wrong: tokens that go to no one's address are lost. */
function addressOf(value: unknown): string | undefined {
  const address = kind.matched(ADDRESS, value)?.[0]
  if (address === undefined) return undefined
  const digits = address.slice(2)
  const inOneCase = digits === digits.toLowerCase() || digits === digits.toUpperCase()
  return inOneCase || address === checksummed(address) ? address.toLowerCase() : undefined
}

const address = kind.scalar(
  { zh: '0x 加40位的地址;大小写混写时校验须正确', en: 'an address of 0x and 40 digits, without a typing error' },
  { type: 'string', pattern: ADDRESS.source },
  addressOf,
)
const hash = kind.scalar(
  { zh: '交易哈希,0x 加64位', en: 'the hash of a transaction, 0x and 64 digits' },
  { type: 'string', pattern: HASH.source },
  value => kind.matched(HASH, value)?.[0].toLowerCase(),
)

/** `receiver`: an address that the payer has named. What came from an exchange cannot go back to where it came from. */
export const sendBackForm = z.strictObject({
  amount: kind.cny,
  reference: kind.name,
  receiver: address,
  reason,
  force: z.boolean('true or false').prefault(false),
})

/** `tx`: the transaction that sent the tokens. `reason`: why they are not sent. One of the two. */
export const sentForm = z.strictObject({
  tx: hash.optional(),
  reason: reason.optional(),
})

const act = (actor: Actor, operation: string): Act => ({ actor, operation })

export class Deposits {
  readonly #deps: PaymentsAdminDeps

  constructor(deps: PaymentsAdminDeps) {
    this.#deps = deps
  }

  async #usdt(): Promise<Usdt> {
    const usdt = await (await this.#deps.pay()).usdt()
    if (usdt === null) throw faults.NOT_CONFIGURED()
    return usdt
  }

  /** `account`: only deposits of this one; undefined = of all, null = the caller named one that does not exist. */
  async list({ state, limit, after }: z.output<typeof depositsFilter>, account: Account | null | undefined) {
    if (account === null) throw new OperationError('missing', NO_ACCOUNT)
    const { deps } = await this.#usdt()
    return allDeposits(deps.store, {
      ...(account === undefined ? {} : { accountId: account.id }),
      ...(state === undefined ? {} : { state }),
      ...(after === undefined ? {} : { beforeId: after }),
      limit,
    })
  }

  async one(id: string) {
    const { deposit } = await this.#deposit(id)
    return oneDeposit(this.#deps.store, deposit)
  }

  async #deposit(id: string): Promise<{ usdt: Usdt; deposit: Deposit }> {
    const usdt = await this.#usdt()
    const deposit = /^\d{1,15}$/.test(id) ? await this.#deps.store.chain.deposit(Number(id)) : null
    if (deposit === null || deposit.chainId !== usdt.deps.config.chain_id) throw faults.NO_DEPOSIT()
    return { usdt, deposit }
  }

  async sweepList(): Promise<AsyncGenerator<string>> {
    return sweepList(await this.#usdt())
  }

  /** Credits what an account has waiting, however little it is. */
  async release(account: Account | null, form: z.output<typeof releaseForm>, actor: Actor) {
    const usdt = await this.#usdt()
    if (account === null) throw new OperationError('missing', NO_ACCOUNT)
    const credited = await usdt.release(account.id, form.reason, act(actor, 'deposits.release'))
    return { credited: formatMicro(micro(credited.reduce((sum, deposit) => sum + deposit.credited, 0))) }
  }

  async rewind(form: z.output<typeof rewindForm>, actor: Actor) {
    const { no, hash } = await (await this.#usdt()).rewind(form.block, form.reason, act(actor, 'deposits.rewind'))
    return { block: no, hash }
  }

  /** Decides about a deposit that is held. It is credited only while the other node says that it stands where it was found. */
  async resolve(id: string, action: 'credit' | 'close', why: string, actor: Actor) {
    const { usdt, deposit } = await this.#deposit(id)
    if (deposit.state !== 'held') throw faults.NOT_HELD()
    if (action === 'credit' && (await usdt.confirms(deposit)) !== 'same') throw faults.NOT_CONFIRMED()
    const { chain } = this.#deps.store
    const by = act(actor, 'deposits.resolve')
    const done = await chain
      .resolveDeposit(deposit.id, action === 'credit', why, by)
      .catch((error): DepositResolved => {
        if (error instanceof StoreConflict) return { outcome: 'conflict' }
        throw error
      })
    if (done.outcome !== 'done') throw faults.NOT_RESOLVED[done.outcome]()
    if (action === 'credit') await inForce(usdt.deps)
    return oneDeposit(this.#deps.store, done.deposit)
  }

  /** Those that wait until somebody has sent the tokens. */
  async toSend() {
    await this.#usdt()
    return { data: (await this.#deps.store.chain.frozenDepositRefunds(MOST_FROZEN)).map(refundRow) }
  }

  /** Takes money of a deposit out of the balance and says which tokens to send. The same reference is the same refund. */
  async sendBack(id: string, form: z.output<typeof sendBackForm>, actor: Actor) {
    const { usdt, deposit } = await this.#deposit(id)
    const { chain } = this.#deps.store
    const { amount, reference, receiver, force } = form
    if (receiver === usdt.deps.config.contract) throw faults.NOBODYS()
    if (amount === 0) throw wrong('amount', { en: 'CNY above 0', zh: '大于0的人民币金额' })
    const refund = {
      id: refundIdOf(depositReference(deposit.chainId, deposit), reference),
      depositId: deposit.id,
      amount,
      receiver,
      reason: form.reason,
    }
    const frozen = await afterRecall(usdt.deps, accountPurse(deposit.accountId), () =>
      chain.freezeDeposit(refund, force, act(actor, 'deposits.refund')),
    )
    if (!('refund' in frozen)) {
      const refundable = 'refundable' in frozen ? frozen.refundable : await chain.depositRefundable(deposit.id)
      throw faults.notFrozen(frozen.outcome, refundable)
    }
    if (frozen.outcome === 'frozen') await inForce(usdt.deps)
    return { created: frozen.outcome === 'frozen', row: refundRow(frozen.refund) }
  }

  /** The tokens were sent, which a node has to confirm, or they will not be. */
  async endSendBack(id: string, { tx, reason: why }: z.output<typeof sentForm>, actor: Actor) {
    const usdt = await this.#usdt()
    const { chain } = this.#deps.store
    const refund = await chain.depositRefund(id)
    if (refund === null || refund.chainId !== usdt.deps.config.chain_id) throw faults.NO_REFUND()
    if ((tx === undefined) === (why === undefined)) throw faults.ONE_OF_TWO()
    if (refund.state !== 'frozen') return sameEnd(refund, tx)
    if (tx !== undefined) await this.#checkSent(usdt, refund, tx)
    const end = tx === undefined ? { reason: why as string } : { tx }
    const done = await chain.endDepositRefund(id, end, act(actor, 'deposits.refund_end'))
    if (!('refund' in done)) throw done.outcome === 'used' ? faults.USED() : faults.NO_REFUND()
    await tellUnsent(usdt.deps)
    await inForce(usdt.deps)
    return sameEnd(done.refund, tx)
  }

  async #checkSent(usdt: Usdt, refund: DepositRefund, tx: string): Promise<void> {
    const deposit = (await this.#deps.store.chain.deposit(refund.depositId)) as Deposit
    const sent = await usdt.moved(tx, refund.receiver)
    if (sent === null) throw faults.NOT_FINAL()
    // Whoever paid may have sent something to the receiver in the same transaction.
    if (sent.value < refund.value || sent.atMs < deposit.blockAtMs || tx === deposit.tx)
      throw faults.OTHER_TRANSFER(refundRow(refund).tokens)
  }
}

/** Asked again, it is answered as before; another end is refused. */
function sameEnd(refund: DepositRefund, tx: string | undefined) {
  if (refund.tx !== (tx ?? null)) throw faults.ENDED()
  return refundRow(refund)
}
