/**
 * The records of a chain on which tokens come: whose addresses are watched, how far the chain has been read, and what came. They know
 * nothing of SQL or of any node's protocol.
 *
 * Amounts of tokens are whole numbers of their smallest unit (wei) and larger than any number of JavaScript is exact for:
 * they are bigints here and texts in the store.
 */
import { createHash } from 'node:crypto'
import { decimalText, type Micro } from '../base/money.ts'
import type { Order } from './pay.ts'

/** The currency of rates for it. */
export const USDT = 'USDT'
const PLACES = 18
export const WEI = 10n ** BigInt(PLACES)

export const tokenText = (wei: bigint): string => decimalText(wei, PLACES)

/** A block by its number and hash: on another fork the same number has another hash. */
export interface BlockRef {
  no: number
  hash: string
}

export interface ChainAddress {
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

/** A transfer of tokens as a node reports it. */
export interface Transfer {
  tx: string
  logIndex: number
  from: string
  to: string
  value: bigint
  block: BlockRef
}

export interface NewTransfer extends Transfer {
  accountId: number
  /** The block's own time; ms since 1970. */
  blockAtMs: number
  /** Which node of the config has reported it, from 1: the other one must confirm it. */
  node: number
  /** Whether the chain is a test network. */
  sandbox: boolean
}

/** An order that the reading of the chain has made of a transfer, with the place of the transfer. */
export interface TransferOrder extends Order, Transfer {
  chainId: number
  /** Counts up in the order in which transfers were read. */
  seq: number
  blockAtMs: number
  node: number
  tokens: bigint
  /** The part that a quote holds its rate for; 0 = none. `rate` is for the rest. */
  quoted: bigint
  quotedRate: number | null
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
export const transferReference = (chainId: number, { tx, logIndex }: Pick<Transfer, 'tx' | 'logIndex'>): string =>
  `bsc:${chainId}:${tx}:${logIndex}`

/** Crockford's base 32: every provider takes these letters and digits in the number of an order. */
export const ID_DIGITS = '0123456789ABCDEFGHJKMNPQRSTVWXYZ'
const ID_LENGTH = 26

/** A number of an order or a refund that follows from a text: 130 bits of its hash. */
export const idOfText = (letter: 'T' | 'R', text: string): string =>
  letter +
  [...createHash('sha256').update(text).digest()]
    .slice(0, ID_LENGTH)
    .map(byte => ID_DIGITS[byte % ID_DIGITS.length])
    .join('')

/** What a transfer is worth in micro-CNY × 10^18, exactly; null = a rate is missing. */
export function worthOf({
  value,
  quoted,
  quotedRate,
  rate,
}: Pick<TransferOrder, 'value' | 'quoted' | 'quotedRate' | 'rate'>): bigint | null {
  const rest = value - quoted
  if (rest > 0n && rate === null) return null
  return quoted * BigInt(quotedRate ?? 0) + rest * BigInt(rate ?? 0)
}

/**
 * Whether a transfer takes the rate of a quote, and uses it up. Exchanges send a little less than they were told to, so it may be
 * less; but nobody else's dust may take a quote away.
 */
export const takesQuote = ({ wei }: Pick<Quote, 'wei'>, value: bigint): boolean => value * 2n >= wei

/** Tokens are asked for and sent back in ten-thousandths: wallets take no more places. */
const STEP = WEI / 10_000n
export const askedOf = (wei: bigint): number => {
  const steps = wei / STEP
  return steps > BigInt(Number.MAX_SAFE_INTEGER) ? Number.MAX_SAFE_INTEGER : Number(steps)
}
/** Ten-thousandths of a token as a decimal. */
export const askedText = (asked: number): string => tokenText(BigInt(asked) * STEP)

/** Whole micro-CNY of such a worth, rounded down. */
export const floorOf = (worth: bigint): bigint => worth / WEI
