/**
 * Recovery of what dead processes left: their journals and their leases. Every few seconds each process looks through the machine's journal
 * folder. A journal whose lock is free belongs to a dead process: its settlements are sent to the store (`replay`),
 * its process's leases are given back, and the folder is deleted. That order matters: if the leases went back first,
 * money that is charged already would look free for a moment.
 */
import path from 'node:path'
import { closeSync, existsSync, openSync, readdirSync, renameSync, rmSync, statSync } from 'node:fs'
import { type Clock, pause } from '../base/clock.ts'
import { Rounds } from '../base/rounds.ts'
import type { Store } from '../store/store.ts'
import { StoreUnavailable } from '../store/base/errors.ts'
import type { Settlement } from '../store/books/settlement.ts'
import { CORRUPT, countDeadLetters, type DeadLetters, setAside } from './dead-letters.ts'
import { Lock } from './journal.ts'
import { JournalReader, journalBytes, NotOurs } from './records.ts'
import type { LedgerLog } from './log.ts'

const EVERY_MS = 5_000
const BATCH = 500
/** After so many rounds in which the store refused a settlement, it is set aside for people. */
const REFUSED_ROUNDS = 5
/** A measurement of the other journals' size is used for so long. */
const MEASURED_MS = 1_000

/**
 * A file in a journal's folder which says that whoever holds its lock is applying the journal, and is not the process that wrote it.
 */
const ADOPTING = 'adopting'

interface RecoveryOptions extends ReplayOptions {
  clock: Clock
  /** The folder of this process's own journal, which is left alone. */
  own: string
  storeId: number
}

export class Recovery {
  readonly #o: RecoveryOptions
  readonly #rounds: Rounds
  /** Visits run one at a time: a second one would find the lock of the first and take the dead process for alive. */
  #turn: Promise<unknown> = Promise.resolve()
  #beside = { bytes: 0, atMs: Number.NEGATIVE_INFINITY }
  /** The names of journals that another version of this program wrote, or that are for another store; each is logged once and left alone. */
  readonly #left = new Set<string>()
  /** For each journal with settlements that the store refuses, in how many rounds it has refused them. */
  readonly #refused = new Map<string, number>()

  constructor(options: RecoveryOptions) {
    this.#o = options
    this.#rounds = new Rounds(options.clock, EVERY_MS, () => this.#round())
  }

  /**
   * Resolves after the first round, so that a restarted process serves with the charges of the dead one in the books.
   */
  async start(): Promise<void> {
    await this.#round()
    this.#rounds.start()
  }

  /** The settlements and journals that wait for people on this machine. `journals` counts those of another version or of another store. */
  get deadLetters(): DeadLetters & { journals: number } {
    return { ...countDeadLetters(this.#o.folder), journals: this.#left.size }
  }

  /** The bytes of all other journals on this machine, of live processes too, except those that are left alone. */
  besideBytes(nowMs: number): number {
    if (nowMs - this.#beside.atMs < MEASURED_MS) return this.#beside.bytes
    const { folder } = this.#o
    const names = this.#names().filter(name => !this.#left.has(name))
    const bytes = names.reduce((sum, name) => sum + journalBytes(path.join(folder, name)), 0)
    this.#beside = { bytes, atMs: nowMs }
    return bytes
  }

  stop(): Promise<void> {
    return this.#rounds.stop()
  }

  /** Visits every journal in the folder. What fails is tried again in the next round. */
  async #round(): Promise<void> {
    try {
      for (const name of this.#names()) if (!this.#rounds.stopped) await this.#visit(name)
    } catch (error) {
      this.#failed(error, this.#o.folder)
    }
  }

  /** None where the folder is gone: the journal of this process makes it again. */
  #names(): string[] {
    const { folder, own } = this.#o
    if (!existsSync(folder)) return []
    return readdirSync(folder).filter(name => path.join(folder, name) !== own && !name.includes(CORRUPT))
  }

  #visit(name: string): Promise<boolean> {
    const visit = this.#turn.then(() => this.#look(path.join(this.#o.folder, name), name))
    this.#turn = visit
    return visit
  }

  /**
   * Applies the journal if its process is dead. False when there is no such journal here, or its process lives; true
   * when this or another process takes care of it.
   */
  async #look(folder: string, name: string): Promise<boolean> {
    let lock: Lock | null = null
    try {
      if (!isFolder(folder)) return false
      lock = Lock.take(folder)
      if (lock === null) return existsSync(path.join(folder, ADOPTING))
      noteAdoption(folder)
      if (!isFolder(folder)) return false // another process was faster
      await this.#adopt(folder, name)
      return true
    } catch (error) {
      if (error instanceof NotOurs) this.#leave(name, folder, error.message)
      else this.#failed(error, folder)
      return true
    } finally {
      lock?.release()
    }
  }

  /** Leaves a journal alone. Its leases stay too: they cover its charges, which must not look like free money. */
  #leave(name: string, folder: string, reason: string): void {
    if (this.#left.has(name)) return
    this.#left.add(name)
    this.#o.log.error({ folder, reason }, 'a journal is left as it is')
  }

  #failed(error: unknown, folder: string): void {
    if (!(error instanceof StoreUnavailable))
      this.#o.log.error({ err: error, folder }, 'a journal could not be applied')
  }

  /** Gives the leases of a silent process back. When its journal is on this machine, the journal is applied first. */
  async recover(holder: string, beat: number): Promise<void> {
    if (!(await this.#visit(firstName(holder)))) await this.#returnLeases(holder, beat)
  }

  #returnLeases(holder: string, beat?: number): Promise<boolean> {
    return returnAllLeases(this.#o, holder, beat, () => this.#rounds.stopped)
  }

  async #adopt(folder: string, name: string): Promise<void> {
    const { store, storeId, log } = this.#o
    const journal = new JournalReader(folder, storeId)
    const replayed: Replayed = { records: 0, applied: 0, refused: [] }
    for (const settlements of journal.pieces())
      for (let i = 0; i < settlements.length; i += BATCH) {
        if (this.#rounds.stopped) return
        await replay(this.#o, settlements.slice(i, i + BATCH), replayed)
      }
    if (replayed.refused.length > 0 && !this.#refusedForGood(name, replayed)) return
    for (const settlement of replayed.refused) setAside(this.#o, settlement, 'refused')
    for (const { id } of await store.holders.list())
      if (firstName(id) === name && !(await this.#returnLeases(id))) return
    const { torn, corrupt } = journal
    const found = { holder: name, records: replayed.records, applied: replayed.applied, torn, corrupt }
    if (corrupt > 0) {
      // the readable records are in the books; the folder is kept for people because of the others
      const kept = `${folder}${CORRUPT}${this.#o.clock.now()}`
      renameSync(folder, kept)
      log.error({ ...found, kept }, 'records of a journal cannot be read')
      return
    }
    rmSync(folder, { recursive: true, force: true })
    log.info(found, 'applied the journal of a process that has ended')
  }

  /**
   * Whether the refused settlements are to be set aside. Not when the store refused all of several: then the fault is
   * probably the store's, and it will take them later.
   */
  #refusedForGood(name: string, { records, refused }: Replayed): boolean {
    const rounds = (this.#refused.get(name) ?? 0) + 1
    this.#refused.set(name, rounds)
    const ids = refused.slice(0, 3).map(({ row }) => row.requestId)
    this.#o.log.error({ holder: name, records, refused: refused.length, ids, rounds }, 'the store refuses settlements')
    if (rounds < REFUSED_ROUNDS || (records > 1 && refused.length === records)) return false
    this.#refused.delete(name)
    return true
  }
}

/**
 * Creates the file ADOPTING. Without it, which is possible on a full disk, another process may give the holder's leases back while the
 * journal is still being applied.
 */
function noteAdoption(folder: string): void {
  try {
    closeSync(openSync(path.join(folder, ADOPTING), 'a'))
  } catch {}
}

const isFolder = (folder: string): boolean => statSync(folder, { throwIfNoEntry: false })?.isDirectory() ?? false

// --- sending what was read

/** A store that refuses more settlements of one journal than this is taken to be broken itself, and the replay ends. */
const MOST_REFUSED = 100

interface ReplayOptions {
  store: Store
  log: LedgerLog
  /** The journal folder of the machine. */
  folder: string
}

/** The result of one replay of a journal, in settlements. */
interface Replayed {
  /** All settlements that were read. */
  records: number
  /** Settlements that were not in the books before. */
  applied: number
  /** Settlements that the store refused with an error of its own. */
  refused: Settlement[]
}

/**
 * Sends settlements of a dead process's journal to the store, and adds the result to `sum`. This is idempotent, because the store knows by
 * request id which of them it has, as long as it keeps their usage rows. A settlement that is older than the last pruning and not in the
 * books may have been counted or not; it is set aside for people. When the store refuses a batch, the batch is halved until the refused
 * settlements are found, and the others are booked. Throws StoreUnavailable, the store's error when it refuses more than
 * MOST_REFUSED, and errors of the disk when a settlement cannot be set aside.
 */
async function replay(o: ReplayOptions, settlements: readonly Settlement[], sum: Replayed): Promise<void> {
  const settled = await sent(o.store, settlements)
  if (!(settled instanceof Error)) {
    sum.records += settlements.length
    sum.applied += settled.applied
    for (const settlement of settled.unsure) setAside(o, settlement, 'unsure')
    for (const settlement of settled.clashing) setAside(o, settlement, 'clash')
  } else if (settlements.length > 1) {
    const half = Math.ceil(settlements.length / 2)
    await replay(o, settlements.slice(0, half), sum)
    await replay(o, settlements.slice(half), sum)
  } else {
    sum.records++
    sum.refused.push(settlements[0] as Settlement)
    if (sum.refused.length > MOST_REFUSED) throw settled
  }
}

async function sent(store: Store, settlements: readonly Settlement[]) {
  try {
    return await store.books.settle(settlements, true)
  } catch (error) {
    if (error instanceof StoreUnavailable) throw error
    return error instanceof Error ? error : new Error(String(error))
  }
}

// --- giving leases back

const PAUSE_MS = 10

/**
 * Gives all leases of a process back to their purses, by repeated calls of `store.holders.bury`. Each call is a small transaction; a pause
 * after it lets other transactions run. For `beat` see `bury`. Returns false when `stopped` ended it early; then somebody has to give the
 * rest back later.
 */
export async function returnAllLeases(
  { store, clock }: { store: Store; clock: Clock },
  holder: string,
  beat?: number,
  stopped = () => false,
): Promise<boolean> {
  while (!(await store.holders.bury(holder, beat))) {
    await pause(clock, PAUSE_MS)
    if (stopped()) return false
  }
  return true
}

/**
 * The ids of a process in the store's table `holders`. A process begins with an id `p`, which is also the name of its
 * journal folder. Each time another process has taken it for dead, it registers again under the next id: `p.1`, `p.2`.
 * So whoever finds the journal `p` knows that the leases of all these ids belong to it.
 */
const RENAMED = '.'

const firstName = (holder: string): string => holder.split(RENAMED, 1)[0] as string

export function nextName(holder: string): string {
  const [first, count = '0'] = holder.split(RENAMED)
  return `${first}${RENAMED}${Number(count) + 1}`
}
