/**
 * Rows in every state that there is, for the tests of how pages look: orders and refunds of each way to pay, what does not fit between
 * payments and orders, entries, and requests by their end. They are made as gateways make them, so that no row is in a state that it cannot have.
 */
import { idAt } from '../../../lib/base/ids.ts'
import { micro } from '../../../lib/base/money.ts'
import type { Store } from '../../../lib/store/store.ts'
import { WEI } from '../../../lib/terms/chain.ts'
import { PAY_EXCEPTIONS, REFUND_KINDS } from '../../../lib/terms/pay.ts'
import { ENDS, type Line } from '../../../lib/terms/usage-row.ts'
import type { Account, Key } from '../../../lib/terms/records.ts'
import { LOOSE, newOrder, newRefund, proofOf } from '../../support/orders.ts'
import { SETUP, settlement, usageRow } from '../../support/store.ts'
import { chargeOfLines } from '../../support/receipt.ts'
import { confirmTransfers, creditTransfers } from '../../support/transfers.ts'

const CNY = 1_000_000
const FEN = 10_000
const HOUR_MS = 3_600_000
const DAY_MS = 24 * HOUR_MS
const CHAIN = 56

/** Orders that somebody began on the page, one in each state, and one whose money is held. */
async function makeCheckoutOrders({ pay }: Store, account: Account, nowMs: number, note: string): Promise<void> {
  const made = async (fen: number) => {
    const asked = { amount: micro(fen * FEN), asked: fen, sandbox: true, expiresAtMs: nowMs + HOUR_MS }
    const order = newOrder(account.id, { ...asked, userId: null, checkAtMs: null })
    await pay.makeOrder(order, LOOSE, SETUP)
    return order.id
  }
  const paid = async (fen: number, heldUntilMs?: number) => {
    const id = await made(fen)
    const hold = heldUntilMs === undefined ? null : { disputes: 0, sinceMs: 0, untilMs: heldUntilMs }
    await pay.proveOrder(proofOf(id, `payment of ${id}`, { amount: fen }), hold)
    return id
  }
  const credited = async (fen: number) => {
    const id = await paid(fen)
    await pay.creditOrder(id, micro(fen * FEN), '', SETUP)
    return id
  }
  await made(1_100)
  await pay.orderShown(await made(1_200), null, { qr: 'https://pay.example/1200' })
  await pay.endOrder(await made(1_300), 'expired', null)
  await pay.endOrder(await made(1_400), 'failed', null)
  await paid(1_500)
  await paid(1_600, nowMs + DAY_MS)
  const several = await credited(9_000)
  for (const [i, kind] of REFUND_KINDS.entries())
    for (const [j, end] of ([null, 'done', 'released'] as const).entries()) {
      const id = `${kind} ${j}`
      await pay.freeze(newRefund(several, id, 100 + i + j, { kind, reason: note }), true, null, SETUP)
      if (end !== null) await pay.endFreeze('alipay', id, end, SETUP)
    }
  for (const [kind, fen] of [
    ['refund', 1_700],
    ['dispute', 1_800],
  ] as const) {
    await pay.freeze(newRefund(await credited(fen), `all by ${kind}`, fen, { kind, reason: note }), true, null, SETUP)
    await pay.endFreeze('alipay', `all by ${kind}`, 'done', SETUP)
  }
  for (const [i, kind] of PAY_EXCEPTIONS.entries())
    await pay.raiseException({
      method: kind === 'chain' ? 'usdt' : 'alipay',
      kind,
      reference: `${kind} ${i}`,
      detail: note,
      amount: 700 + i,
      currency: 'CNY',
      ...(i % 2 === 0 && { orderId: several, transactionId: `payment of ${several}` }),
      ...(kind === 'dispute' && { dueAtMs: nowMs + DAY_MS }),
    })
}

const hash = (n: number): string => `0x${n.toString(16).padStart(64, '0')}`

/** Transfers to the address of the account, in each state that an order of a transfer can have. */
async function makeTransfers({ chain, pay }: Store, account: Account, nowMs: number): Promise<void> {
  let count = 0
  const transfer = (tokens: bigint, block = ++count) => ({
    tx: hash(1_000 + block),
    logIndex: block,
    from: `0x${'1'.repeat(40)}`,
    to: `0x${'2'.repeat(40)}`,
    value: tokens * WEI,
    block: { no: block, hash: hash(block) },
    accountId: account.id,
    blockAtMs: nowMs - HOUR_MS,
    node: 1,
    sandbox: true,
  })
  const add = (...transfers: ReturnType<typeof transfer>[]) => chain.addTransfers(CHAIN, transfers)
  // without a rate, which comes later
  await add(transfer(3n))
  await confirmTransfers({ chain, pay } as Store, CHAIN)
  await pay.setPayRate({ currency: 'USDT', rate: 7 * CNY, fromMs: 0, untilMs: 8_000_000_000_000 }, SETUP)
  const minimum = 40 * CNY
  const worth = transfer(9n)
  await add(worth)
  await confirmTransfers({ chain, pay } as Store, CHAIN)
  await creditTransfers({ chain, pay } as Store, CHAIN, account.id, minimum, SETUP)
  const [credited] = await chain.transferOrders({ limit: 1 })
  const receiver = `0x${'3'.repeat(40)}`
  const back = {
    method: 'usdt',
    orderId: credited!.id,
    kind: 'refund',
    reason: '',
    providerId: null,
    receiver,
  } as const
  await pay.freeze({ ...back, id: 'all of a transfer', amount: credited!.amount }, true, null, SETUP)
  await pay.endByHand('usdt', 'all of a transfer', { tx: hash(7) }, SETUP)
  await add(transfer(8n))
  await confirmTransfers({ chain, pay } as Store, CHAIN)
  await creditTransfers({ chain, pay } as Store, CHAIN, account.id, minimum, SETUP)
  await add(transfer(2n))
  await confirmTransfers({ chain, pay } as Store, CHAIN)
  await creditTransfers({ chain, pay } as Store, CHAIN, account.id, minimum, SETUP)
  // the same transaction in another final block, which a person has to look at; and one that no second node has seen
  await add({ ...worth, logIndex: 99, block: { no: 99, hash: hash(99) } })
  await add(transfer(4n))
}

export interface EndedRequests {
  /** Its answer broke off behind a status 200. */
  broken: string
  /** Pictures that were charged by two sizes. */
  pictures: string
}

/** Requests that ended in each way, and one that made pictures. */
async function makeRequests({ books }: Store, key: Key, nowMs: number): Promise<EndedRequests> {
  const ids = ENDS.map((_, i) => `${idAt(nowMs - 60_000 * (i + 1))}n0de1000000`)
  const statuses = { completed: 200, client_gone: 200, upstream_error: 502, upstream_cut: 200 } as const
  const bases = {
    completed: 'reported',
    client_gone: 'counted',
    upstream_error: 'none',
    upstream_cut: 'counted',
  } as const
  const ended = ENDS.map((end, i) =>
    usageRow(ids[i]!, key, end === 'upstream_error' ? 0 : 1_000, { end, status: statuses[end], basis: bases[end] }),
  )
  const wrong = { end: 'completed', status: 400, basis: 'none' } as const
  const pictures = `${idAt(nowMs - 30_000)}n0de1000000`
  const picture = (priceRow: string, price: number, count: number): Line => ({
    model: 'gamma-image-2',
    priceVersion: 1,
    list: 'base',
    tier: CNY,
    tierName: null,
    class: 'image',
    count,
    priceRow,
    price,
  })
  const lines = [picture('1024x1536/high', 1.6 * CNY, 1), picture('default', 0.28 * CNY, 2)]
  const multiplier = CNY
  const none = { input: 0, cache_read: 0, cache_write_5m: 0, cache_write_1h: 0, output: 0 }
  const all = [
    ...ended,
    usageRow(`${idAt(nowMs - 40_000)}n0de1000000`, key, 0, wrong),
    usageRow(pictures, key, Number(chargeOfLines({ lines, multiplier })), {
      model: 'gamma-image-2',
      protocol: 'images',
      lines,
      multiplier,
      priceVersion: 1,
      held: micro(4 * CNY),
      firstByteMs: null,
      durationMs: 21_400,
      ...none,
      images: 3,
    }),
  ]
  await books.settle(all.map(row => settlement(row, 'h', 0)))
  return { broken: ids[ENDS.indexOf('upstream_cut')]!, pictures }
}

/** Entries of the kinds that neither orders nor charges make. */
async function makeEntries({ entries }: Store, account: Account, note: string): Promise<void> {
  const by = { actor: 'a test', note }
  await entries.add(account.id, { ...by, kind: 'adjustment', amount: micro(-12 * CNY), reference: 'of July' }, SETUP)
  await entries.add(account.id, { ...by, kind: 'settlement', amount: micro(-4_200), reference: 'row:1' }, SETUP)
}

/** `note`: what operators have written. The holder `h` must be registered. */
export async function everyState(
  store: Store,
  account: Account,
  key: Key,
  { nowMs, note }: { nowMs: number; note: string },
): Promise<EndedRequests> {
  await makeCheckoutOrders(store, account, nowMs, note)
  await makeTransfers(store, account, nowMs)
  await makeEntries(store, account, note)
  return makeRequests(store, key, nowMs)
}
