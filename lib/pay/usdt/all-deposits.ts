/** What operators see of deposits: what came, what was sent back of it, and the list for sweeping. */
import { formatMicro } from '../../base/money.ts'
import type { Store } from '../../store/store.ts'
import type { DepositBack, DepositFilter } from '../../store/deposit-store.ts'
import { type Deposit, type DepositRefund, tokenText } from '../../terms/deposits.ts'
import { checksummed } from '../../config/xpub.ts'
import { shownDeposit } from './own-deposits.ts'
import type { Usdt } from './usdt.ts'

const PAGE = 100

const iso = (ms: number): string => new Date(ms).toISOString()

const shown = (
  deposit: Deposit,
  names: ReadonlyMap<number, { publicId: string; name: string }>,
  backs: ReadonlyMap<number, DepositBack>,
) => ({
  ...shownDeposit(deposit, backs.get(deposit.id)),
  account: { id: names.get(deposit.accountId)?.publicId ?? '', name: names.get(deposit.accountId)?.name ?? '' },
  address: checksummed(deposit.to),
  sender: checksummed(deposit.from),
  block: deposit.block.no,
  decided_by: deposit.decidedBy,
  decision: deposit.decision,
})

export async function allDeposits(store: Store, filter: DepositFilter) {
  const rows = await store.chain.deposits(filter)
  const [names, backs] = await Promise.all([namesOf(store, rows), store.chain.depositsBack(rows.map(({ id }) => id))])
  const last = rows.length === filter.limit ? rows.at(-1) : undefined
  return { data: rows.map(row => shown(row, names, backs)), next: last === undefined ? null : String(last.id) }
}

export const refundRow = (refund: DepositRefund) => ({
  id: refund.id,
  deposit: String(refund.depositId),
  amount: formatMicro(refund.amount),
  tokens: tokenText(refund.value),
  receiver: checksummed(refund.receiver),
  state: refund.state,
  tx: refund.tx,
  reason: refund.reason,
  by: refund.actor,
  ending: refund.ending === '' ? null : refund.ending,
  at: iso(refund.atMs),
  ended_at: refund.endedAtMs === null ? null : iso(refund.endedAtMs),
})

/** A deposit with everything that was sent back of it, and what could be. */
export async function oneDeposit(store: Store, deposit: Deposit) {
  const [names, backs, refunds, refundable] = await Promise.all([
    namesOf(store, [deposit]),
    store.chain.depositsBack([deposit.id]),
    store.chain.depositRefunds(deposit.id),
    store.chain.depositRefundable(deposit.id),
  ])
  return { ...shown(deposit, names, backs), refundable: formatMicro(refundable), refunds: refunds.map(refundRow) }
}

async function namesOf(store: Store, rows: readonly { accountId: number }[]) {
  const ids = [...new Set(rows.map(({ accountId }) => accountId))]
  const accounts = await Promise.all(ids.map(id => store.accounts.byId(id)))
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
