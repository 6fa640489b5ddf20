/**
 * Walks one deposit through, for an operator who wants to know whether it works with the real chain: the nodes, the rate, the
 * address, a transfer by a person, and the credit. Nothing has to be undone: the address is the account's for good.
 */
import { storeNow } from '../../operations/deps.ts'
import { type Clock, pause } from '../../base/clock.ts'
import { formatMicro, micro } from '../../base/money.ts'
import { OperationError } from '../../operations/error.ts'
import { type Deposit, tokenText, USDT } from '../../terms/deposits.ts'
import type { Act } from '../../base/people.ts'
import type { Account } from '../../terms/records.ts'
import { checksummed } from '../../config/xpub.ts'
import type { Finding } from '../doctor.ts'
import type { Chain } from './chain.ts'
import { isNodes, type Usdt } from './usdt.ts'

export interface UsdtExamined {
  usdt: Usdt
  clock: Clock
  account: Account
  /** How long the payer may take. */
  waitMs: number
  act: Act
}

/** Blocks that the nodes are asked for transfers of. */
const BLOCKS = 1_000
const LOOK_MS = 4_000
const NODE_CHECK = 'the address in `pay.usdt.endpoints`, and whether the provider answers eth_getLogs'

export async function* examineUsdt(examined: UsdtExamined): AsyncGenerator<Finding> {
  const { usdt, account, act } = examined
  let well = true
  for (const chain of usdt.chains) {
    const finding = await nodeFinding(chain)
    well &&= finding.ok === true
    yield finding
  }
  if (!well) return
  yield await rateFinding(usdt)
  const issued = await usdt.issue(account, act).catch(error => {
    if (error instanceof OperationError) return error.message
    throw error
  })
  if (typeof issued === 'string') return yield { step: 'address', ok: false, text: issued }
  const address = checksummed(issued.address)
  yield { step: 'address', ok: true, text: `${address} is address ${issued.number} and belongs to ${account.name}` }
  yield { step: 'pay', ok: null, text: 'send USDT on BNB Smart Chain to it now', shown: { qr: address } }
  yield* untilCredited(examined)
}

async function nodeFinding(chain: Chain): Promise<Finding> {
  try {
    await chain.prove()
    const [head, final] = [await chain.block('latest'), await chain.block('finalized')]
    if (head === null || final === null)
      return { step: 'node', ok: false, text: `node ${chain.node} has no final block`, check: NODE_CHECK }
    const from = Math.max(0, final.no - BLOCKS)
    await chain.transfers(from + 1, final.no, 'to', new Set([`0x${'0'.repeat(39)}1`]))
    const text = `node ${chain.node} is at block ${head.no}, final is ${final.no}, and it answers eth_getLogs`
    return { step: 'node', ok: true, text }
  } catch (error) {
    if (!isNodes(error)) throw error
    return { step: 'node', ok: false, text: error.message, check: NODE_CHECK }
  }
}

async function rateFinding({ deps }: Usdt): Promise<Finding> {
  const rate = await deps.store.pay.payRate(USDT, await storeNow(deps))
  if (rate === null)
    return { step: 'rate', ok: false, text: 'no rate is in force: deposits wait for one', check: 'Rates' }
  const until = new Date(rate.untilMs).toISOString()
  return { step: 'rate', ok: true, text: `1 USDT is ${formatMicro(micro(rate.rate))} CNY until ${until}` }
}

/** It reads the chain by itself while no gateway does. */
async function* untilCredited({ usdt, clock, account, waitMs }: UsdtExamined): AsyncGenerator<Finding> {
  const { store, config } = usdt.deps
  const [newest] = await store.chain.deposits({ accountId: account.id, limit: 1 })
  const said = new Map<number, Deposit['state']>()
  for (const start = clock.monotonic(); clock.monotonic() - start < waitMs; await pause(clock, LOOK_MS)) {
    await usdt.scanner.round(() => false)
    const found = await store.chain.deposits({ accountId: account.id, afterId: newest?.id ?? 0, limit: 10 })
    for (const deposit of found) {
      if (said.get(deposit.id) === deposit.state) continue
      said.set(deposit.id, deposit.state)
      yield depositFinding(deposit, account)
    }
    if (found.some(({ state }) => state === 'credited')) return
  }
  const text = `no deposit was credited in this time; the minimum is ${formatMicro(config.minimum)} CNY`
  yield { step: 'credit', ok: null, text, check: 'the transfer on an explorer, and the exceptions of the kind `chain`' }
}

function depositFinding({ value, block, state, credited }: Deposit, { name }: Account): Finding {
  const what = `${tokenText(value)} USDT in block ${block.no}`
  if (state === 'credited')
    return { step: 'credit', ok: true, text: `${name} has ${formatMicro(credited)} CNY of ${what}` }
  const ok = state === 'held' ? false : null
  return { step: 'deposit', ok, text: `${what}: ${state}` }
}
