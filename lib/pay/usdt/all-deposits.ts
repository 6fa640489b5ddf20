/** What operators do about deposits: what came, the list for sweeping, and what follows an alarm. */
import { formatMicro, micro } from '../../base/money.ts'
import { OperationError } from '../../operations/error.ts'
import type { Store } from '../../store/store.ts'
import { type Deposit, type DepositState, tokenText } from '../../terms/deposits.ts'
import type { Act } from '../../terms/people.ts'
import { checksummed } from '../../terms/xpub.ts'
import { shownDeposit } from './own-deposits.ts'
import type { Usdt } from './usdt.ts'

const PAGE = 100
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

/** Credits what an account has waiting, however little it is. */
export async function release(usdt: Usdt, publicId: string, act: Act) {
  const account = await usdt.deps.store.accountByPublicId(publicId)
  if (account === null) throw new OperationError('missing', 'there is no such account')
  const credited = await usdt.release(account.id, act)
  return { credited: formatMicro(micro(credited.reduce((sum, deposit) => sum + deposit.credited, 0))) }
}

export async function rewind(usdt: Usdt, block: number, reason: string, act: Act) {
  const { no, hash } = await usdt.rewind(block, reason, act)
  return { block: no, hash }
}
