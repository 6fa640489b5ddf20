/**
 * The part of the store's interface that is about deposits on a chain: addresses, the cursor, transfers, quotes. What reads
 * the chain moves the cursor in the transaction that stores what it found, so that nothing is skipped or counted twice.
 */
import type { Micro } from '../base/money.ts'
import type {
  BlockRef,
  ChainCursor,
  Deposit,
  DepositAddress,
  DepositRefund,
  DepositState,
  NewDeposit,
  Quote,
  Transfer,
} from '../terms/deposits.ts'
import type { Act } from '../base/people.ts'

export interface NewAddress {
  chainId: number
  wallet: string
  accountId: number
  fromBlock: number
}

/**
 * What became of transfers that were read. `clashing`: of a transaction that is stored in another block, which a final block
 * rules out; what is new of them is stored as `held`, unless no second node has confirmed any of it where it was.
 */
export interface Recorded {
  added: number
  clashing: Transfer[]
}

export interface DepositFilter {
  accountId?: number
  address?: string
  state?: DepositState
  beforeId?: number
  afterId?: number
  limit: number
}

export interface DepositsCredited {
  credited: Deposit[]
  /** Worth more than can be booked, or booked under the same reference with another amount. */
  held: Deposit[]
}

/**
 * `settled`: it is not held, or there is none. `elsewhere`: its transaction counts as it stood in another block. `rateless`: nobody
 * knows what it is worth. `conflict`: the ledger has another entry under its reference, or cannot hold it.
 */
export type DepositResolved =
  | { outcome: 'done'; deposit: Deposit }
  | { outcome: 'settled' | 'elsewhere' | 'rateless' | 'conflict' }

export type NewDepositRefund = Pick<DepositRefund, 'id' | 'depositId' | 'amount' | 'receiver' | 'reason'>

/**
 * `short`: no more than `refundable` can go back. `bound`: the deposit was not credited with that much. `conflict`: the refund
 * exists, with another amount or receiver. `own`: the receiver is an address that is watched, so it would be credited again.
 * `dust`: it is worth fewer tokens than a wallet sends.
 */
export type DepositFrozen =
  | { outcome: 'frozen' | 'same'; refund: DepositRefund }
  | { outcome: 'short'; refundable: Micro }
  | { outcome: 'bound' | 'conflict' | 'own' | 'dust' }

export interface DepositBack {
  frozen: Micro
  refunded: Micro
}

/** `tx`: the transaction that sent the tokens. `reason`: why they were not sent. */
export type DepositRefundEnd = { tx: string } | { reason: string }

/** `ended`: it had ended before. `used`: the transaction stands at another refund. */
export type DepositRefundEnded = { outcome: 'done' | 'ended'; refund: DepositRefund } | { outcome: 'missing' | 'used' }

/** A transfer that no final block has yet. */
export type Seen = Transfer & Pick<Deposit, 'accountId'>

export type NewQuote = Omit<Quote, 'id' | 'used'>

export interface ChainStore {
  /** The address of an account in a wallet; null = none has been issued. */
  depositAddress(chainId: number, wallet: string, accountId: number): Promise<DepositAddress | null>
  /**
   * Issues the address of an account, or returns the one that it has. The number comes from a counter that stays locked to the
   * end of the transaction, so addresses become visible in the order of their numbers. `derive`: number → address.
   */
  issueAddress(issue: NewAddress, derive: (number: number) => string, act: Act): Promise<DepositAddress>
  addressCount(chainId: number): Promise<number>
  /** Addresses in the order of their numbers, after one of them. */
  depositAddresses(chainId: number, afterNumber: number, limit: number): Promise<DepositAddress[]>

  /** Makes `holder` the one process that reads the chain, until it takes it no more. False = another one is it. */
  takeChain(chainId: number, holder: string, nowMs: number, leaseMs: number): Promise<boolean>
  chainCursor(chainId: number): Promise<ChainCursor | null>
  /** Begins to read a chain after a block, unless it was begun. */
  beginChain(chainId: number, block: BlockRef, blockAtMs: number): Promise<ChainCursor>
  /**
   * Stores the transfers of the blocks after `from` up to `to`, and moves the cursor there. null = the cursor is not at
   * `from`: another process reads the chain, and nothing was stored.
   */
  advanceChain(
    chainId: number,
    from: BlockRef,
    to: BlockRef & { atMs: number },
    deposits: readonly NewDeposit[],
  ): Promise<Recorded | null>
  /** Stores transfers at or before the cursor that were missed. */
  addDeposits(chainId: number, deposits: readonly NewDeposit[]): Promise<Recorded>
  /** The chain has been read for addresses from their `fromBlock` to the cursor. */
  addressesWatched(chainId: number, numbers: readonly number[]): Promise<void>
  /** The blocks up to `secondTo` have been read a second time; the next such reading goes to where the cursor is now. */
  secondRead(chainId: number, to: BlockRef): Promise<void>
  /** Sets the cursor back, or on another fork, because somebody has decided so. */
  rewindChain(chainId: number, to: BlockRef & { atMs: number }, reason: string, act: Act): Promise<void>
  /** Stores transfers out of the addresses, in the blocks up to `toNo`. */
  recordSweeps(chainId: number, toNo: number, sweeps: readonly Transfer[]): Promise<void>
  /** The sum of the deposits of an address, and of what left it, in the blocks up to one. */
  addressSums(chainId: number, address: string, toNo: number): Promise<{ deposits: bigint; sweeps: bigint }>

  /** Replaces what stands in blocks that are not final. */
  setSeen(chainId: number, seen: readonly Seen[]): Promise<void>
  seen(chainId: number, accountId: number): Promise<Pick<Deposit, 'tx' | 'logIndex' | 'value'>[]>

  deposit(id: number): Promise<Deposit | null>
  /** Newest first; with `afterId` oldest first. */
  deposits(filter: DepositFilter): Promise<Deposit[]>
  /** How many deposits are in each state, and what they were credited with. */
  depositTotals(chainId: number): Promise<{ state: DepositState; count: number; credited: Micro }[]>
  depositsIn(chainId: number, fromNo: number, toNo: number): Promise<Deposit[]>
  /**
   * Deposits that no second node has confirmed. Accounts take turns, so that thousands of the smallest amounts of one hold up
   * nobody else; those that were asked about least come first.
   */
  unconfirmed(chainId: number, limit: number): Promise<Deposit[]>
  confirmDeposit(id: number): Promise<void>
  /** Counts a question about a deposit that ended without a confirmation. */
  depositChecked(id: number): Promise<void>
  /** Accounts with confirmed deposits that are not credited. */
  waitingAccounts(chainId: number): Promise<number[]>
  /** Gives deposits without a rate the first one that was set after they came. */
  fixRates(): Promise<number>
  /**
   * Credits the confirmed deposits of an account when they are together worth at least `minimum`, each rounded down and under a
   * reference of its own. One call credits some of them in one transaction; the caller repeats it until nothing is left. The
   * only way in which deposits get into a balance, but for `resolveDeposit`. `reason`: why somebody credits them by hand.
   */
  creditDeposits(
    chainId: number,
    accountId: number,
    minimum: Micro,
    act: Act,
    reason?: string,
  ): Promise<DepositsCredited>
  /** Credits or closes a deposit that is held, because somebody has decided so. */
  resolveDeposit(id: number, credit: boolean, reason: string, act: Act): Promise<DepositResolved>

  /** Freezes money of a deposit that is to be sent back: inserts the refund's row and an entry of −amount in one transaction. */
  freezeDeposit(refund: NewDepositRefund, forced: boolean, act: Act): Promise<DepositFrozen>
  /** The end of such a freeze: the entries that belong to it, in one transaction. */
  endDepositRefund(id: string, end: DepositRefundEnd, act: Act): Promise<DepositRefundEnded>
  depositRefund(id: string): Promise<DepositRefund | null>
  depositRefunds(depositId: number): Promise<DepositRefund[]>
  /** What of deposits went back, or is frozen to go back, by their ids; those of which nothing did are left out. */
  depositsBack(ids: readonly number[]): Promise<Map<number, DepositBack>>
  /** Those whose tokens nobody has said to be sent; oldest first. */
  frozenDepositRefunds(limit: number): Promise<DepositRefund[]>
  /** What of a deposit could be sent back now. */
  depositRefundable(id: number): Promise<Micro>

  /** Ends the account's earlier quote, and makes one. */
  /** null = the account has made so many (`anHour`) in the last hour of the chain. */
  makeQuote(quote: NewQuote, anHour: number, act: Act): Promise<Quote | null>
  /** The account's newest quote. */
  quote(accountId: number): Promise<Quote | null>
}
