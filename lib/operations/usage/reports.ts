/**
 * Reports that read much. They are read, added up and written out in the thread of exports, so that requests
 * which this process relays do not wait for them, and come as JSON text. `report-work.ts` is what runs there.
 */
import { accountPurse } from '../../store/books/purses.ts'
import type { Pieces } from '../../store/export-thread.ts'
import type { OperationDeps } from '../deps.ts'
import { OperationError } from '../error.ts'
import type { AccountReader } from './filters.ts'
import type { FileName, ReportArguments, ReportHead, ReportName, ReportOrder, ReportRefusal } from './report-work.ts'

const WORK = new URL('./report-work.ts', import.meta.url)

type ReportDeps = Pick<OperationDeps, 'store' | 'clock'> & {
  fleet: Pick<OperationDeps['fleet'], 'settled' | 'held' | 'holders'>
}

/** The answer of an operation as JSON text in UTF-8, which need not be parsed to be sent. */
export class ReadyJson {
  readonly bytes: Uint8Array

  constructor(bytes: Uint8Array) {
    this.bytes = bytes
  }
}

/** Runs an operation in the thread of exports. `args`: its arguments behind `deps`. Throws the OperationError that it throws there. */
export async function reportJson<N extends ReportName>(
  deps: ReportDeps,
  name: N,
  ...args: ReportArguments<N>
): Promise<ReadyJson> {
  return new ReadyJson(Buffer.concat(await Array.fromAsync(await answer(deps, name, args))))
}

/** Runs an operation whose answer is a file, as `reportJson` does; the pieces are made when they are asked for. */
export const reportFile = <N extends FileName>(
  deps: ReportDeps,
  name: N,
  ...args: ReportArguments<N>
): Promise<Pieces> => answer(deps, name, args)

async function answer(deps: ReportDeps, name: ReportOrder['name'], args: ReportOrder['args']): Promise<Pieces> {
  const { store, clock, fleet } = deps
  await fleet.settled()
  const money =
    name === 'overview'
      ? await moneyOf(deps, (args as ReportArguments<'overview'>)[0])
      : { held: new Map(), holders: [] }
  const pieces = store.export(WORK, { name, args, nowMs: clock.now(), ...money } satisfies ReportOrder, false)
  const { value: head } = await pieces.next()
  if (head !== undefined && Buffer.from(head).toString() === ('answered' satisfies ReportHead)) return pieces
  const refusal = Buffer.concat(await Array.fromAsync(pieces)).toString()
  const { fault, message, details, fields } = JSON.parse(refusal) as ReportRefusal
  throw new OperationError(fault, message, details, fields)
}

/** The account's money that only the serving processes know of. */
async function moneyOf(
  { fleet }: ReportDeps,
  { account }: AccountReader,
): Promise<Pick<ReportOrder, 'held' | 'holders'>> {
  const purse = accountPurse(account.id)
  const [held, holders] = await Promise.all([fleet.held(), fleet.holders()])
  const ours = held.get(purse)
  return { held: new Map(ours === undefined ? [] : [[purse, ours]]), holders }
}
