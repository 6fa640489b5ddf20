/** Measures how fast settlements go from the journal into the books, and how long that blocks the event loop. */
import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import path from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import { monitorEventLoopDelay } from 'node:perf_hooks'
import { systemClock } from '../../lib/base/clock.ts'
import { micro } from '../../lib/base/money.ts'
import { Journal } from '../../lib/ledger/journal.ts'
import { Settler } from '../../lib/ledger/settler.ts'
import { accountPurse, keyPurse } from '../../lib/store/books/purses.ts'
import { quantile } from '../report/statistics.ts'
import { type Books, rows, settlementOf } from './store-rows.ts'

const LEASE = 1_000_000_000_000
const FROM_MS = Date.UTC(2026, 6, 1)
/** The most settlements that wait for the store, as when requests come faster than it takes them. */
const WAITING = 5_000

/** How many requests end in one turn of a busy event loop. */
const TURN = 8

export interface SettleFigures {
  perSecond: number
  /** CPU time of all threads of this process per settlement. */
  cpuUs: number
  stallMs: number
}

/** Times commits one after the other, as leases make them; most of that time is the sync of the disk. */
export async function measureCommits(
  { store, keys, holder }: Books,
  count: number,
): Promise<{ p50: number; max: number }> {
  const tookMs: number[] = []
  for (const row of rows(keys, count, FROM_MS - 86_400_000, 2)) {
    const began = performance.now()
    await store.books.settle([{ ...settlementOf(row, holder), fromAccountLease: micro(0), fromKeyLease: micro(0) }])
    tookMs.push(performance.now() - began)
  }
  tookMs.sort((a, b) => a - b)
  return { p50: quantile(tookMs, 0.5), max: quantile(tookMs, 1) }
}

/** `run`: the number of the run; each run has its own requests. */
export async function measureSettling({ store, keys, holder }: Books, count: number, run = 0): Promise<SettleFigures> {
  await store.holders.register({ id: holder, host: 'bench', beat: 0 }) // another process may have taken it for dead meanwhile
  for (const key of keys) {
    for (const purse of [accountPurse(key.accountId), keyPurse(key.id)])
      await store.books.lease(purse, holder, micro(0), micro(LEASE), false)
  }
  const folder = mkdtempSync(path.join(tmpdir(), 'bench-journal-'))
  const log = { error: console.error, warn: console.error, info: () => {} }
  const journal = new Journal({ folder, holder, store: await store.id(), limitBytes: 1 << 30, clock: systemClock, log })
  const settler = new Settler({ store, journal, clock: systemClock, log, folder })
  const delay = monitorEventLoopDelay({ resolution: 1 })
  const settlements = [...rows(keys, count, FROM_MS + run * 86_400_000, 1)].map(row => settlementOf(row, holder))
  const began = performance.now()
  const cpu = process.cpuUsage()
  delay.enable()
  for (let i = 0; i < count; i += TURN) {
    settler.add(settlements.slice(i, i + TURN), () => {})
    while (journal.entries >= WAITING) await sleep(1) // in a loop without a pause the waiting would be what is measured
  }
  await settler.drain()
  delay.disable()
  const seconds = (performance.now() - began) / 1000
  const { user, system } = process.cpuUsage(cpu)
  journal.close(true)
  rmSync(folder, { recursive: true, force: true })
  const { ok, charges } = await store.audit()
  if (!ok || charges === 0) throw new Error('the books do not add up after settling')
  return { perSecond: count / seconds, cpuUs: (user + system) / count, stallMs: delay.max / 1e6 }
}
