/** What operators do about deposits: rates with an end, what came, the list for sweeping, and what follows an alarm. */
import { formatMicro, micro, parseMicro } from '../../base/money.ts'
import { OperationError } from '../../operations/error.ts'
import type { Store } from '../../store/store.ts'
import { type Deposit, type DepositState, tokenText, USDT } from '../../terms/deposits.ts'
import type { Act } from '../../terms/people.ts'
import { checksummed } from '../../terms/xpub.ts'
import { storeNow } from './deps.ts'
import { shownDeposit } from './own-deposits.ts'
import type { Usdt } from './usdt.ts'

const PAGE = 100
const RATES = 50
const LONGEST_MS = 31 * 86_400_000
/** A slip of the finger, such as a comma in the wrong place, is further away than this from the rate before. */
const MOST_CHANGE = 1.2

const iso = (ms: number): string => new Date(ms).toISOString()

export async function rates(usdt: Usdt) {
  const nowMs = await storeNow(usdt.deps)
  const rows = await usdt.deps.store.pay.payRates(USDT, RATES)
  const current = await usdt.deps.store.pay.payRate(USDT, nowMs)
  return {
    current: current === null ? null : formatMicro(micro(current.rate)),
    data: rows.map(({ rate, fromMs, untilMs, actor }) => ({
      rate: formatMicro(micro(rate)),
      from: iso(fromMs),
      until: iso(untilMs),
      by: actor,
    })),
  }
}

/** Sets the rate from now on. `force`: it may be far from the one before. */
export async function setRate(usdt: Usdt, sent: unknown, validMs: number, force: boolean, act: Act) {
  const { store } = usdt.deps
  const rate = parseMicro(sent)
  if (rate === null || rate <= 0) throw new OperationError('invalid', 'rate: expected CNY above 0 for one USDT')
  if (validMs <= 0 || validMs > LONGEST_MS) throw new OperationError('invalid', 'valid_for: expected at most 31 days')
  const [before] = await store.pay.payRates(USDT, 1)
  const change = before === undefined ? 1 : Math.max(rate / before.rate, before.rate / rate)
  if (change > MOST_CHANGE && !force)
    throw new OperationError('conflict', 'rate: it is far from the one before; say force if it is meant')
  const fromMs = await storeNow(usdt.deps)
  await store.pay.setPayRate({ currency: USDT, rate, fromMs, untilMs: fromMs + validMs }, act)
  return rates(usdt)
}

const shown = (deposit: Deposit, names: ReadonlyMap<number, { publicId: string; name: string }>) => ({
  ...shownDeposit(deposit),
  account: { id: names.get(deposit.accountId)?.publicId ?? '', name: names.get(deposit.accountId)?.name ?? '' },
  address: checksummed(deposit.to),
  sender: checksummed(deposit.from),
  block: deposit.block.no,
})

export async function allDeposits(usdt: Usdt, filter: { state?: DepositState; beforeId?: number }) {
  const { store } = usdt.deps
  const rows = await store.chain.deposits({ ...filter, limit: PAGE })
  const names = await namesOf(store, rows)
  const last = rows.length === PAGE ? rows.at(-1) : undefined
  return { data: rows.map(row => shown(row, names)), next: last === undefined ? null : String(last.id) }
}

async function namesOf(store: Store, rows: readonly { accountId: number }[]) {
  const ids = [...new Set(rows.map(({ accountId }) => accountId))]
  const accounts = await Promise.all(ids.map(id => store.account(id)))
  return new Map(accounts.flatMap(account => (account === null ? [] : [[account.id, account] as const])))
}

/** The list for sweeping: a line for each address, with what came to it so far. Lines, so that it may be long. */
export async function* sweepList(usdt: Usdt): AsyncGenerator<string> {
  const { store, config } = usdt.deps
  const { chain_id: chainId } = config
  yield 'number,path,address,account,received,left\r\n'
  const cursor = await store.chain.chainCursor(chainId)
  for (let after = -1, more = true; more; ) {
    const page = await store.chain.depositAddresses(chainId, after, PAGE)
    const names = await namesOf(store, page)
    for (const { number, wallet, address, accountId } of page) {
      const { deposits, sweeps } = await store.chain.addressSums(chainId, address, cursor?.no ?? 0)
      // The address of an earlier key has a number of that key's account.
      const path = wallet === usdt.wallet ? `0/${number}` : `(${wallet}) 0/${number}`
      yield `${number},${path},${checksummed(address)},${names.get(accountId)?.publicId ?? ''},${tokenText(deposits)},${tokenText(deposits - sweeps)}\r\n`
    }
    after = page.at(-1)?.number ?? after
    more = page.length === PAGE
  }
}
