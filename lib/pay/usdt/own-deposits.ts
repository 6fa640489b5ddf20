/** What people see of their account's deposits: the address, what a quote promises, and what became of each transfer. */
import { storeNow } from '../../operations/deps.ts'
import { formatMicro, micro, ZERO } from '../../base/money.ts'
import type { DepositBack } from '../../store/deposit-store.ts'
import { type Deposit, floorOf, type Quote, tokenText, USDT, worthOf } from '../../terms/deposits.ts'
import type { Act } from '../../base/people.ts'
import type { Account } from '../../terms/records.ts'
import { checksummed } from '../../config/xpub.ts'
import { NO_DEPOSIT } from './faults.ts'
import type { Usdt } from './usdt.ts'

const PAGE = 50
/** For ten years and more there will be none. */
const MOST_WAITING = 1_000

const iso = (ms: number): string => new Date(ms).toISOString()

/** Its worth may be more than an amount of ours can be; nobody is shown a number then. */
const worthText = (deposit: Deposit): string | null => {
  const worth = worthOf(deposit)
  return worth === null ? null : formatMicro(floorOf(worth))
}

export const shownDeposit = (deposit: Deposit, back: DepositBack | undefined) => ({
  id: String(deposit.id),
  tx: deposit.tx,
  log_index: deposit.logIndex,
  amount: tokenText(deposit.value),
  state: deposit.state === 'due' ? ('confirmed' as const) : deposit.state,
  worth: worthText(deposit),
  credited: formatMicro(deposit.credited),
  frozen: formatMicro(back?.frozen ?? ZERO),
  refunded: formatMicro(back?.refunded ?? ZERO),
  at: iso(deposit.blockAtMs),
  credited_at: deposit.creditedAtMs === null ? null : iso(deposit.creditedAtMs),
})

export const shownQuote = (quote: Quote) => ({
  amount: formatMicro(quote.amount),
  tokens: tokenText(quote.wei),
  rate: formatMicro(micro(quote.rate)),
  until: iso(quote.untilMs),
})

/** The page of USDT. Without an address, none has been asked for yet. */
export async function ownDeposits(usdt: Usdt | null, account: Account, beforeId: number | undefined) {
  if (usdt === null || !usdt.offers(account)) return { usdt: null, data: [], seen: [], next: null }
  const { store, config } = usdt.deps
  const nowMs = await storeNow(usdt.deps)
  const [address, rate, quote, rows, waiting, seen] = await Promise.all([
    usdt.addressOf(account),
    store.pay.payRate(USDT, nowMs),
    store.chain.quote(account.id),
    store.chain.deposits({ accountId: account.id, limit: PAGE, ...(beforeId === undefined ? {} : { beforeId }) }),
    store.chain.deposits({ accountId: account.id, state: 'confirmed', limit: MOST_WAITING }),
    store.chain.seen(config.chain_id, account.id),
  ])
  const backs = await store.chain.depositsBack(rows.map(({ id }) => id))
  const open = quote !== null && !quote.used && quote.untilMs > nowMs ? shownQuote(quote) : null
  const sum = waiting.reduce((total, deposit) => total + (worthOf(deposit) ?? 0n), 0n)
  const last = rows.length === PAGE ? rows.at(-1) : undefined
  return {
    usdt: {
      chain_id: config.chain_id,
      contract: checksummed(config.contract),
      address: address === null ? null : checksummed(address.address),
      minimum: formatMicro(config.minimum),
      rate: rate === null ? null : { rate: formatMicro(micro(rate.rate)), until: iso(rate.untilMs) },
      quote: open,
      waiting: waiting.length === 0 ? null : formatMicro(floorOf(sum)),
    },
    data: rows.map(row => shownDeposit(row, backs.get(row.id))),
    seen: seen.map(({ tx, logIndex, value }) => ({ tx, log_index: logIndex, amount: tokenText(value) })),
    next: last === undefined ? null : String(last.id),
  }
}

/** A deposit of the account, for its receipt. */
export async function ownDeposit(usdt: Usdt, account: Account, id: string) {
  const { chain } = usdt.deps.store
  const deposit = /^\d{1,15}$/.test(id) ? await chain.deposit(Number(id)) : null
  if (deposit === null || deposit.accountId !== account.id) throw NO_DEPOSIT()
  return shownDeposit(deposit, (await chain.depositsBack([deposit.id])).get(deposit.id))
}

export async function ownAddress(usdt: Usdt, account: Account, act: Act) {
  const { address } = await usdt.issue(account, act)
  return { address: checksummed(address) }
}

export async function ownQuote(usdt: Usdt, account: Account, amount: unknown, act: Act) {
  return shownQuote(await usdt.quote(account, amount, act))
}
