/** How the chain and its nodes fare, for operators. Nodes are told by their places in the config: their addresses have keys. */
import { formatMicro, micro, ZERO } from '../../base/money.ts'
import type { PayMark, Store } from '../../store/store.ts'
import type { UsdtConfig } from '../../config/pay-schema.ts'
import { BALANCES, BALANCES_DONE, HEAD, nodeFailedMark, nodeMark } from '../marks.ts'
import { iso, isoOrNull } from '../own-orders.ts'

const SECOND_MS = 1_000

export async function chainHealth({ chain }: Store, config: UsdtConfig, allMarks: readonly PayMark[], nowMs: number) {
  const marks = new Map(allMarks.filter(({ method }) => method === 'usdt').map(mark => [mark.what, mark]))
  const [cursor, addresses, totals] = await Promise.all([
    chain.chainCursor(config.chain_id),
    chain.addressCount(config.chain_id),
    chain.depositTotals(config.chain_id),
  ])
  const [head, behind] = (marks.get(HEAD)?.value ?? '').split(' ').map(Number)
  const [balanceDay, balanceEnd] = (marks.get(BALANCES)?.value ?? '').split(' ')
  const at = (what: string) => isoOrNull(marks.get(what)?.atMs ?? null)
  return {
    chain_id: config.chain_id,
    sandbox: config.sandbox,
    minimum: formatMicro(config.minimum),
    head: head || null,
    head_at: at(HEAD),
    finality_lag_blocks: behind ?? null,
    cursor:
      cursor === null
        ? null
        : {
            block: cursor.no,
            at: iso(cursor.blockAtMs),
            lag_seconds: Math.max(0, Math.round((nowMs - cursor.blockAtMs) / SECOND_MS)),
          },
    second_block: cursor?.secondNo ?? null,
    second_at: cursor === null ? null : iso(cursor.secondAtMs),
    nodes: config.endpoints.map((_, i) => ({
      node: i + 1,
      answered_at: at(nodeMark(i + 1)),
      failed_at: at(nodeFailedMark(i + 1)),
      failed: (marks.get(nodeFailedMark(i + 1))?.value ?? null) as 'away' | 'refused' | null,
    })),
    addresses,
    balances_day: balanceDay || null,
    balances_done: balanceEnd === BALANCES_DONE,
    balances_at: at(BALANCES),
    deposits: totals.map(({ state, count }) => ({ state, count })),
    credited: formatMicro(totals.reduce((sum, { credited }) => micro(sum + credited), ZERO)),
  }
}
