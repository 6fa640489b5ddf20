/**
 * Reports on an account that read much. They are read, added up and written out in the thread of exports, so that requests
 * which this process relays do not wait for them, and come as JSON text. `report-work.ts` is what runs there.
 */
import { accountPurse } from '../store/store.ts'
import type { Account } from '../terms/records.ts'
import type { OperationDeps } from './deps.ts'
import { OperationError } from './error.ts'
import type { ReportArguments, ReportHead, ReportName, ReportOrder, ReportRefusal } from './report-work.ts'

const WORK = new URL('./report-work.ts', import.meta.url)

export type ReportDeps = Pick<OperationDeps, 'store' | 'clock'> & {
  fleet: Pick<OperationDeps['fleet'], 'settled' | 'held' | 'holders'>
}

/** The answer of an operation, as JSON text. */
export class ReadyJson {
  readonly bytes: Uint8Array

  constructor(bytes: Uint8Array) {
    this.bytes = bytes
  }
}

/** `args`: those of the operation behind what every operation is given. Throws what it throws. */
export async function report<N extends ReportName>(
  deps: ReportDeps,
  account: Account,
  name: N,
  ...args: ReportArguments<N>
): Promise<ReadyJson> {
  const { store, clock, fleet } = deps
  await fleet.settled()
  const money = name === 'overview' ? await moneyOf(deps, account) : { held: new Map(), holders: [] }
  const pieces = store.export(WORK, { name, args, nowMs: clock.now(), ...money } satisfies ReportOrder)
  // the first piece says whether the others are the answer or the refusal
  const [head, ...rest] = await Array.fromAsync(pieces)
  const bytes = Buffer.concat(rest)
  if (head === undefined || Buffer.from(head).toString() === ('answered' satisfies ReportHead))
    return new ReadyJson(bytes)
  const { fault, message, details, fields } = JSON.parse(bytes.toString()) as ReportRefusal
  throw new OperationError(fault, message, details, fields)
}

/** What only the serving processes know of the account's money. */
async function moneyOf({ fleet }: ReportDeps, { id }: Account): Promise<Pick<ReportOrder, 'held' | 'holders'>> {
  const purse = accountPurse(id)
  const [held, holders] = await Promise.all([fleet.held(), fleet.holders()])
  const ours = held.get(purse)
  return { held: new Map(ours === undefined ? [] : [[purse, ours]]), holders }
}
