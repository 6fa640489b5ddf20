/**
 * Bench of lib/ledger: holds in memory, and settlements with a journal on the disk. The store takes the settlements
 * between rounds.
 */
import { deepEqual, ok } from 'node:assert/strict'
import { mkdtempSync, rmSync } from 'node:fs'
import os from 'node:os'
import path from 'node:path'
import type * as ClockModule from '../../lib/base/clock.ts'
import type * as IdsModule from '../../lib/base/ids.ts'
import { type Micro, micro } from '../../lib/base/money.ts'
import type * as LedgerModule from '../../lib/ledger/ledger.ts'
import { accountPurse } from '../../lib/store/books/purses.ts'
import { fund, memoryStore, usageRow } from '../../test/support/store.ts'
import type { Bench, Case, Lib } from './bench.ts'

const CREDIT = 1_000_000_000_000
const AMOUNT = micro(50_000)
const CHARGE = 700
/** The most settlements in a round: the store gets no turn within a round, so more would fill the memory. */
const MOST = 1_000
/** How many requests end in one turn of a busy event loop. */
const TURN = 16

const LOG = { info() {}, warn() {}, error() {} }

export const bench: Bench = async lib => {
  const { ledger, clock, close, spent, key } = await open(lib)
  const { idMaker } = await lib<typeof IdsModule>('base/ids.ts')
  const nextId = idMaker(clock.now)
  let settled = 0
  const account = { id: key.accountId, budget: null }
  type Reserve = typeof ledger.reserve
  /** Checkouts from before budgets take the ids and the cap one by one. */
  const before = ledger.reserve as unknown as (...args: unknown[]) => ReturnType<Reserve>
  const reserve = (amount: Micro): ReturnType<Reserve> =>
    ledger.reserve.length > 3
      ? before.call(ledger, account.id, key.id, null, amount)
      : ledger.reserve(account, key, amount)
  const hold = () => {
    const held = reserve(AMOUNT)
    ok('account' in held, 'the lease is not in memory')
    return held
  }
  /** Leases money for a whole round. */
  const rest = async () => {
    await ledger.flush()
    const held = await reserve(micro(MOST * AMOUNT))
    ok('account' in held, 'no money')
    ledger.void(held)
  }
  await rest()
  const settling = (name: string, perTurn: number): Case => {
    const run = () => {
      for (let i = 0; i < perTurn; i++) ledger.settle(hold(), usageRow(nextId(), key, CHARGE))
      ledger.write?.()
      settled += perTurn
      return settled
    }
    return {
      name,
      per: perTurn,
      most: Math.floor(MOST / perTurn),
      check: async () => {
        run()
        await ledger.flush()
        deepEqual([await spent(), ledger.holdsOpen], [settled * CHARGE, 0])
        await rest()
      },
      run,
      rest,
    }
  }
  return [
    {
      name: 'hold and void',
      check: () => {
        const held = hold()
        deepEqual([ledger.holdsOpen, ledger.heldTotal], [1, AMOUNT])
        ledger.void(held)
        deepEqual([ledger.holdsOpen, ledger.heldTotal], [0, 0])
      },
      run: () => {
        const held = hold()
        ledger.void(held)
        return held.amount
      },
      rest,
    },
    settling('hold and settle, journal included', 1),
    { ...settling(`hold and settle, ${TURN} a turn`, TURN), close },
  ]
}

/** `write` is missing in older checkouts, which write settlements to the journal one by one. */
type AnyLedger = Omit<LedgerModule.Ledger, 'write'> & { write?(): void }

async function open(lib: Lib) {
  const { Ledger } = await lib<typeof LedgerModule>('ledger/ledger.ts')
  const { systemClock: clock } = await lib<typeof ClockModule>('base/clock.ts')
  const folder = mkdtempSync(path.join(os.tmpdir(), 'bench-ledger-'))
  const store = await memoryStore()
  const { account, key } = await fund(store, 'a', CREDIT)
  const ledger: AnyLedger = await Ledger.open({ store, clock, log: LOG, folder, limitBytes: 2 ** 28 })
  return {
    ledger,
    clock,
    key,
    spent: async () => (await store.books.purses([accountPurse(account.id)]))[0]?.spent,
    close: async () => {
      await ledger.stop()
      await store.close()
      rmSync(folder, { recursive: true, force: true })
    },
  }
}
