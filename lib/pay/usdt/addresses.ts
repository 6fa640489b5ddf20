/**
 * What people see of USDT beside their orders: the account's address, the rate, what a quote promises, and what is on its way. And the
 * list of all addresses by which operators move the tokens to a wallet of theirs.
 */
import { iso } from '../../base/clock.ts'
import type { Act } from '../../base/people.ts'
import { formatMicro, micro } from '../../base/money.ts'
import { checksummed } from '../../config/xpub.ts'
import { storeNow } from '../../operations/deps.ts'
import { floorOf, type Quote, tokenText, USDT, worthOf } from '../../terms/chain.ts'
import { UNTIL_ENOUGH } from '../../terms/pay.ts'
import type { Account } from '../../terms/records.ts'
import type { Usdt } from './usdt.ts'

const PAGE = 100
/** For ten years and more there will be none. */
const MOST_WAITING = 1_000

const shownQuote = (quote: Quote) => ({
  amount: formatMicro(quote.amount),
  tokens: tokenText(quote.wei),
  rate: formatMicro(micro(quote.rate)),
  until: iso(quote.untilMs),
})

/** Without an address, none has been asked for yet; null = the account is not offered USDT. */
export async function ownUsdt(usdt: Usdt | null, account: Account) {
  if (usdt === null || !usdt.offers(account)) return { usdt: null, seen: [] }
  const { store, config } = usdt.deps
  const nowMs = await storeNow(usdt.deps)
  const [address, rate, quote, paid, seen] = await Promise.all([
    usdt.addressOf(account),
    store.pay.payRate(USDT, nowMs),
    store.chain.quote(account.id),
    store.chain.transferOrders({ accountId: account.id, state: 'paid', limit: MOST_WAITING }),
    store.chain.seen(config.chain_id, account.id),
  ])
  const waiting = paid.filter(({ heldUntilMs }) => heldUntilMs === UNTIL_ENOUGH)
  const open = quote !== null && !quote.used && quote.untilMs > nowMs ? shownQuote(quote) : null
  const sum = waiting.reduce((total, order) => total + (worthOf(order) ?? 0n), 0n)
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
    seen: seen.map(({ tx, logIndex, value }) => ({ tx, log_index: logIndex, amount: tokenText(value) })),
  }
}

export async function ownAddress(usdt: Usdt, account: Account, act: Act) {
  const { address } = await usdt.issue(account, act)
  return { address: checksummed(address) }
}

export async function ownQuote(usdt: Usdt, account: Account, amount: unknown, act: Act) {
  return shownQuote(await usdt.quote(account, amount, act))
}

/** The list for sweeping has a line for each address, with what came to it so far. It is made of lines, so that it may be long. */
export async function* sweepList(usdt: Usdt): AsyncGenerator<string> {
  const { store, config } = usdt.deps
  const { chain_id: chainId } = config
  yield 'number,path,address,account,received,left\r\n'
  const cursor = await store.chain.chainCursor(chainId)
  for (let after = -1, more = true; more; ) {
    const page = await store.chain.addresses(chainId, after, PAGE)
    const accounts = new Map<number, string>()
    for (const { accountId } of page)
      if (!accounts.has(accountId)) accounts.set(accountId, (await store.accounts.byId(accountId))?.publicId ?? '')
    for (const { number, wallet, address, accountId } of page) {
      const { received, sweeps } = await store.chain.addressSums(chainId, address, cursor?.no ?? 0)
      // The address of an earlier key has a number of that key's account.
      const path = wallet === usdt.wallet ? `0/${number}` : `(${wallet}) 0/${number}`
      const sums = `${tokenText(received)},${tokenText(received - sweeps)}`
      yield `${number},${path},${checksummed(address)},${accounts.get(accountId)},${sums}\r\n`
    }
    after = page.at(-1)?.number ?? after
    more = page.length === PAGE
  }
}
