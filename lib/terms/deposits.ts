/**
 * The records of deposits on a chain: whose addresses are watched, how far the chain has been read, and what came. They know
 * nothing of SQL or of any node's protocol.
 *
 * Amounts of tokens are whole numbers of their smallest unit (wei) and larger than any number of JavaScript is exact for:
 * they are bigints here and texts in the store.
 */
import { decimalText, type Micro } from '../base/money.ts'
import type { RefundState } from './pay.ts'

/** The currency of rates for it. */
export const USDT = 'USDT'
const PLACES = 18
export const WEI = 10n ** BigInt(PLACES)

/** Tokens as a decimal. */
export const tokenText = (wei: bigint): string => decimalText(wei, PLACES)

/** A block by its number and hash: on another fork the same number has another hash. */
export interface BlockRef {
  no: number
  hash: string
}

export interface DepositAddress {
  chainId: number
  /** Counts up from 0 on each chain; the address is the child `0/number` of the key that `wallet` names. */
  number: number
  wallet: string
  accountId: number
  /** In lower case. */
  address: string
  /** The newest final block when the address was issued: nobody can have paid to it before. */
  fromBlock: number
  /** Whether the chain has been read for this address from `fromBlock` to the cursor. */
  watched: boolean
  atMs: number
}

/** How far the chain has been read. */
export interface ChainCursor extends BlockRef {
  chainId: number
  /** The block's own time; ms since 1970. */
  blockAtMs: number
  /** The last block that has been read a second time. */
  secondNo: number
  /** The cursor as it was some time ago: it is where the second reading goes next, once it is old enough. */
  secondTo: BlockRef
  secondAtMs: number
  /** The last block up to which transfers out of the addresses have been read. */
  sweepNo: number
}

/**
 * `final`: it stands in a final block. `confirmed`: a second node says the same. `due`: it is credited now, because with
 * others it is worth the minimum. `credited`: the account has the money. `held`: a person has to look at it. `closed`: a
 * person has decided that it credits nothing.
 */
export const DEPOSIT_STATES = ['final', 'confirmed', 'due', 'credited', 'held', 'closed'] as const
export type DepositState = (typeof DEPOSIT_STATES)[number]

/** A transfer of tokens as a node reports it. */
export interface Transfer {
  tx: string
  logIndex: number
  from: string
  to: string
  value: bigint
  block: BlockRef
}

export interface NewDeposit extends Transfer {
  accountId: number
  /** The block's own time; ms since 1970. */
  blockAtMs: number
  /** Which node of the config has reported it, from 1: the other one must confirm it. */
  node: number
}

export interface Deposit extends NewDeposit {
  id: number
  chainId: number
  state: DepositState
  /** The part that a quote holds its rate for; 0 = none. */
  quoted: bigint
  quotedRate: number | null
  /** CNY in millionths for one token, for the rest; null = there is no rest, or no rate has been set yet. */
  rate: number | null
  credited: Micro
  /** When it was stored as final. */
  atMs: number
  creditedAtMs: number | null
  /** How often a second node was asked about it. */
  checks: number
  /** Who has credited or closed it by hand, and why; null = nobody. */
  decidedBy: string | null
  decision: string | null
}

/**
 * Tokens that an operator sends back from another wallet. `frozen`: the money is out of the balance, and nobody has said that
 * the tokens were sent. `done`: they were sent, by the transaction `tx`. `released`: they were not sent, and the balance has
 * the money again.
 */
export interface DepositRefund {
  id: string
  chainId: number
  depositId: number
  accountId: number
  amount: Micro
  /** The tokens to send, and where to; the address is in lower case. */
  value: bigint
  receiver: string
  state: RefundState
  /** A transaction counts for one refund only. */
  tx: string | null
  reason: string
  actor: string
  /** Why nothing was sent. */
  ending: string
  atMs: number
  endedAtMs: number | null
}

/** A promise to take some tokens at a rate. It holds for one transfer, by the time of its block. */
export interface Quote {
  id: number
  accountId: number
  amount: Micro
  wei: bigint
  rate: number
  fromMs: number
  untilMs: number
  used: boolean
}

/** The entry that credits it. A transfer counts once in the whole store. */
export const depositReference = (chainId: number, { tx, logIndex }: Pick<Transfer, 'tx' | 'logIndex'>): string =>
  `bsc:${chainId}:${tx}:${logIndex}`

/** What a deposit is worth in micro-CNY × 10^18, exactly; null = a rate is missing. */
export function worthOf({
  value,
  quoted,
  quotedRate,
  rate,
}: Pick<Deposit, 'value' | 'quoted' | 'quotedRate' | 'rate'>): bigint | null {
  const rest = value - quoted
  if (rest > 0n && rate === null) return null
  return quoted * BigInt(quotedRate ?? 0) + rest * BigInt(rate ?? 0)
}

/**
 * Whether a transfer takes the rate of a quote, and uses it up. Exchanges send a little less than they were told to, so it may be
 * less; but nobody else's dust may take a quote away.
 */
export const takesQuote = ({ wei }: Pick<Quote, 'wei'>, value: bigint): boolean => value * 2n >= wei

/** What is sent back is rounded down to as many places as wallets take. */
const SENT_STEP = WEI / 10_000n

/** The tokens of a part of what a deposit was credited with. */
export const tokensBack = ({ value, credited }: Pick<Deposit, 'value' | 'credited'>, amount: Micro): bigint =>
  ((value * BigInt(amount)) / BigInt(credited) / SENT_STEP) * SENT_STEP

/** Whole micro-CNY of such a worth, rounded down. */
export const floorOf = (worth: bigint): bigint => worth / WEI
