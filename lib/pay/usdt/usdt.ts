/**
 * USDT on BNB Smart Chain. Each account has an address of its own, derived from the operator's public key, so every transfer
 * belongs to somebody however much it is and whenever it comes. The gateway has no key that could move the tokens.
 */
import { raise, isWholeFen } from '../exceptions.ts'
import { type Micro, formatMicro, parseMicro } from '../../base/money.ts'
import { addressAt, walletOf } from '../../config/xpub.ts'
import { storeNow } from '../../operations/deps.ts'
import { OperationError } from '../../operations/error.ts'
import {
  askedOf,
  askedText,
  type BlockRef,
  type TransferOrder,
  type ChainAddress,
  type Quote,
  USDT,
  WEI,
} from '../../terms/chain.ts'
import type { Act } from '../../base/people.ts'
import type { Account } from '../../terms/records.ts'
import { nodeFailedMark, nodeMark } from '../health.ts'
import { NOBODYS, NOT_FINAL, OTHER_TRANSFER } from '../faults.ts'
import { type PayMethod, ProviderAway, ProviderRefuses, type Said } from '../method.ts'
import type { Order, Refund } from '../../terms/pay.ts'
import { type Block, Chain, NodeError, Rpc } from './chain.ts'
import { paymentOf, type UsdtDeps } from './crediting.ts'
import { Scanner } from './scanner.ts'

const QUOTE_MS = 30 * 60_000
/** An account is given at most so many. */
const QUOTES_AN_HOUR = 20
/** How long the newest block is taken for the newest: plans of nodes have an end, and anybody may ask for quotes. */
const HEAD_MS = 4_000

export class Usdt implements PayMethod {
  readonly name = 'usdt'
  readonly currency = USDT
  readonly sandbox: boolean
  readonly minimum: Micro
  readonly deps: UsdtDeps
  readonly wallet: string
  readonly chains: readonly [Chain, Chain]
  readonly scanner: Scanner
  readonly #derived: Derived
  /** Most CNY of a quote. */
  readonly #most: () => Micro
  /** The newest block, or the question for it, and when it was asked. */
  #head: { at: number; block: Promise<Block> } | null = null

  constructor(deps: UsdtDeps, most: () => Micro) {
    const { config } = deps
    const { endpoints, chain_id: chainId, contract, xpub } = config
    const open = (i: 0 | 1) =>
      new Chain(new Rpc(endpoints[i] as string, i + 1, (node, kind) => this.#note(node, kind)), { chainId, contract })
    this.deps = deps
    this.sandbox = config.sandbox
    this.minimum = config.minimum
    this.#most = most
    this.wallet = walletOf(xpub)
    this.#derived = new Derived(xpub)
    this.chains = [open(0), open(1)]
    this.scanner = new Scanner(deps, this.chains)
  }

  #note(node: number, kind: 'away' | 'refused' | 'answered'): void {
    const { counts, marks } = this.deps
    if (kind !== 'answered') counts.endpointError(node, kind)
    void (kind === 'answered' ? marks.note('usdt', nodeMark(node)) : marks.note('usdt', nodeFailedMark(node), kind))
  }

  /** Whether accounts of this kind may have an address: test money is for test accounts. */
  offers(account: Account): boolean {
    return account.sandbox === this.deps.config.sandbox
  }

  async addressOf(account: Account): Promise<ChainAddress | null> {
    const { store, config } = this.deps
    const found = await store.chain.chainAddress(config.chain_id, this.wallet, account.id)
    return found === null ? null : this.#proven(found)
  }

  async #proven(found: ChainAddress): Promise<ChainAddress> {
    if (this.#derived.has(found)) return found
    const { chainId, number, address } = found
    const detail = `the address ${number} in the store, ${address}, is not of the key: it is shown to nobody`
    await raise(this.deps, { method: 'usdt', kind: 'chain', reference: `address:${chainId}:${number}`, detail })
    throw NOT_OURS()
  }

  /**
   * The address of the account. It is stored before anybody sees it, with the newest final block: the chain is read for it
   * from there, wherever the cursor is by then.
   */
  async issue(account: Account, act: Act): Promise<ChainAddress> {
    const { store, config } = this.deps
    if (!this.offers(account)) throw NOT_OFFERED()
    const there = await this.addressOf(account)
    if (there !== null) return there
    const { no } = await this.#reach(async chain => {
      await chain.prove()
      return chain.block('finalized')
    })
    const issue = { chainId: config.chain_id, wallet: this.wallet, accountId: account.id, fromBlock: no }
    return this.#proven(await store.chain.issueAddress(issue, number => addressAt(config.xpub, number), act))
  }

  /** Promises a rate for some tokens. The time runs by the chain's blocks, from the newest one. */
  async quote(account: Account, sentAmount: unknown, act: Act): Promise<Quote> {
    const { store } = this.deps
    if (!this.offers(account)) throw NOT_OFFERED()
    const amount = this.#amount(sentAmount)
    const rate = await store.pay.payRate(USDT, await storeNow(this.deps))
    if (rate === null) throw NO_RATE()
    const { atMs: fromMs } = await this.#latest()
    const wei = tokensFor(amount, rate.rate)
    const untilMs = fromMs + QUOTE_MS
    const quote = { accountId: account.id, amount, wei, rate: rate.rate, fromMs, untilMs }
    const made = await store.chain.makeQuote(quote, QUOTES_AN_HOUR, act)
    if (made === null) throw TOO_MANY()
    return made
  }

  #amount(sent: unknown): Micro {
    const amount = parseMicro(sent)
    const [least, most] = [this.deps.config.minimum, this.#most()]
    if (amount !== null && isWholeFen(amount) && amount >= least && amount <= most) return amount
    const [from, to] = [least, most].map(bound => formatMicro(bound).slice(0, -4))
    const expected = { en: `CNY in whole fen, from ${from} to ${to}`, zh: `${from} 至 ${to} 元，精确到分` }
    throw new OperationError(
      'invalid',
      { en: `amount: expected ${expected.en}`, zh: `amount：应为${expected.zh}` },
      {},
      [{ field: 'amount', expected }],
    )
  }

  /** All quotes of a few seconds share one question, also when nobody answers it. */
  #latest(): Promise<Block> {
    const now = this.deps.clock.monotonic()
    if (this.#head === null || now - this.#head.at >= HEAD_MS)
      this.#head = { at: now, block: this.#reach(chain => chain.block('latest')) }
    return this.#head.block
  }

  /** Asks the nodes in turn, until one knows. */
  async #reach(question: (chain: Chain) => Promise<Block | null>): Promise<Block> {
    const block = await this.#ask(question)
    if (block === null) throw AWAY()
    return block
  }

  /** null = those that answer do not know. */
  async #ask<T>(question: (chain: Chain) => Promise<T | null>): Promise<T | null> {
    let answered = false
    for (const chain of this.chains) {
      try {
        const said = await question(chain)
        if (said !== null) return said
        answered = true
      } catch (error) {
        if (!isNodes(error)) throw error
        this.deps.log.warn({ reason: error.message }, 'a node of the chain cannot be asked')
      }
    }
    if (!answered) throw AWAY()
    return null
  }

  /** What the node that did not report a transfer says of it now. */
  async query({ id }: Order): Promise<Said> {
    const order = (await this.deps.store.chain.transferOrder(id)) as TransferOrder
    const other = this.chains.find(({ node }) => node !== order.node) as Chain
    try {
      await other.prove()
      return (await other.confirms(order)) === 'same' ? paymentOf(order) : { kind: 'open' }
    } catch (error) {
      if (isNodes(error)) throw AWAY()
      throw error
    }
  }

  /** The gateway has no key that could send tokens: an operator sends them, and says by which transaction. */
  async refund(): Promise<{ providerId: null; said: 'undecided' }> {
    return { providerId: null, said: 'undecided' }
  }

  async queryRefund(): Promise<'undecided'> {
    return 'undecided'
  }

  checkReceiver(receiver: string): void {
    if (receiver === this.deps.config.contract) throw NOBODYS()
  }

  /** A node has to confirm that the tokens of a refund were sent by a transaction. */
  async checkSent(refund: Refund, tx: string): Promise<void> {
    const order = (await this.deps.store.chain.transferOrder(refund.orderId)) as TransferOrder
    const sent = await this.#moved(tx, refund.receiver as string)
    if (sent === null) throw NOT_FINAL()
    // Whoever paid may have sent something to the receiver in the same transaction.
    if (askedOf(sent.value) < refund.asked || sent.atMs < order.blockAtMs || tx === order.tx)
      throw OTHER_TRANSFER(askedText(refund.asked))
  }

  /** What a final transaction moved to an address; null = no node knows of such a one yet. */
  async #moved(tx: string, to: string): Promise<{ value: bigint; atMs: number } | null> {
    return this.#ask(async chain => {
      await chain.prove()
      return chain.moved(tx, to)
    })
  }

  /** Sets the cursor back to a block on which both nodes agree. */
  async rewind(no: number, reason: string, act: Act): Promise<BlockRef> {
    const { store, config } = this.deps
    if (reason.trim() === '') throw new OperationError('invalid', 'reason: expected a reason')
    const [cursor, blocks] = await Promise.all([
      store.chain.chainCursor(config.chain_id),
      Promise.all(
        this.chains.map(async chain => ({ at: await chain.block(no), final: await chain.block('finalized') })),
      ),
    ]).catch(error => {
      throw isNodes(error) ? new OperationError('conflict', `block: ${error.message}`) : error
    })
    if (cursor === null || no > cursor.no)
      throw new OperationError('invalid', `block: expected one that has been read, at most ${cursor?.no ?? 'none'}`)
    const [first, second] = blocks
    if (first?.at?.hash === undefined || first.at.hash !== second?.at?.hash)
      throw new OperationError('conflict', 'block: the two nodes do not agree on it')
    if (blocks.some(({ final }) => final === null || final.no < no))
      throw new OperationError('conflict', 'block: it is not final at both nodes')
    await store.chain.rewindChain(config.chain_id, first.at, reason, act)
    return first.at
  }
}

export const isNodes = (error: unknown): error is Error =>
  error instanceof NodeError || error instanceof ProviderAway || error instanceof ProviderRefuses

const NOT_OURS = () =>
  new OperationError('conflict', {
    en: 'The address of this account is wrong in the store: do not pay to it, and tell the operator',
    zh: '存储中此账户的充值地址有误：请勿付款，并联系运营方',
  })
const NOT_OFFERED = () =>
  new OperationError('forbidden', { en: 'This account cannot pay with USDT', zh: '此账户不能使用 USDT 充值' })
const NO_RATE = () =>
  new OperationError('conflict', {
    en: 'There is no exchange rate for USDT at the moment: transfers wait until there is one',
    zh: '暂无 USDT 汇率：充值将等待汇率更新后入账',
  })
const TOO_MANY = () =>
  new OperationError('throttled', {
    en: 'Too many quotes in an hour: try again later',
    zh: '一小时内锁定汇率次数过多，请稍后再试',
  })
const AWAY = () =>
  new OperationError('conflict', {
    en: 'The chain cannot be reached at the moment: try again in a minute',
    zh: '暂时无法连接区块链，请稍后再试',
  })

/** Deriving one takes milliseconds, and pages ask for the same ones again and again. */
const MOST_KEPT = 1_000

class Derived {
  readonly #xpub: string
  readonly #kept = new Map<number, string>()

  constructor(xpub: string) {
    this.#xpub = xpub
  }

  has({ number, address }: Pick<ChainAddress, 'number' | 'address'>): boolean {
    const derived = this.#kept.get(number) ?? addressAt(this.#xpub, number)
    if (!this.#kept.has(number) && this.#kept.size >= MOST_KEPT) this.#kept.clear()
    this.#kept.set(number, derived)
    return derived === address
  }
}

/** Wallets show and take few decimal places, so what is asked for has four. */
const STEP = WEI / 10_000n

const up = (value: bigint, by: bigint): bigint => (value + by - 1n) / by

/** Tokens for an amount at a rate (CNY in millionths for one token), rounded up to four places. */
export const tokensFor = (amount: Micro, rate: number): bigint =>
  up(up(BigInt(amount) * WEI, BigInt(rate)), STEP) * STEP
