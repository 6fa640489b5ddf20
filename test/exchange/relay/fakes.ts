/** What a relay meets in a walk: upstreams, a client and a ledger that do what they are told, one event at a time. */
import type { Dispatcher } from 'undici'
import type { Micro } from '../../../lib/base/money.ts'
import { CommitGroup } from '../../../lib/ledger/ledger.ts'
import { Hold } from '../../../lib/ledger/hold.ts'
import type { Lease } from '../../../lib/ledger/lease.ts'
import type { UsageRow } from '../../../lib/terms/usage-row.ts'
import type { Random } from '../../support/random.ts'
import type { Said, Spoken } from './answers.ts'

/** The client's connection, as far as a reply writes to it. */
export class FakeReply {
  readonly #random: Random
  /** Head and bytes of the answer; '' = the head has not gone out. */
  status = 0
  body: Buffer[] = []
  ends = 0
  /** Said after the end. */
  late: string[] = []
  isDestroyed = false
  waiting: (() => void) | null = null
  #reachedConnection = false

  constructor(random: Random) {
    this.#random = random
  }

  get unseen(): boolean {
    return this.status !== 0 && !this.#reachedConnection
  }

  askForBody(): void {}
  closeAfter(): void {}

  begin(status: number): void {
    this.#say('head')
    this.status = status
  }

  write(...pieces: Buffer[]): boolean {
    this.#say('bytes')
    this.#reachedConnection = true
    this.body.push(...pieces)
    return this.isDestroyed || this.#random.next() > 0.2
  }

  end(...pieces: Buffer[]): void {
    this.#say('end')
    this.ends++
    this.body.push(...pieces)
  }

  breakOff(chunk: Buffer): void {
    this.end(chunk)
    this.isDestroyed = true
  }

  destroy(): void {
    this.isDestroyed = true
  }

  whenDrained(act: () => void): void {
    this.waiting = act
  }

  #say(what: string): void {
    if (this.ends > 0) this.late.push(what)
  }
}

export class FakeUpstream {
  readonly #handler: Dispatcher.DispatchHandler
  readonly #controller: Dispatcher.DispatchController
  phase: 'connecting' | 'asked' | 'answers' | 'over' = 'connecting'
  paused = false
  status = 0
  /** Of its answer, what it will say, and how much of it was said. */
  chunks: Buffer[] = []
  said = 0
  plain = ''
  /** The protocol in which it was asked. */
  readonly spoken: Spoken
  /** It has said a good answer to its end. */
  isGood = false
  /** What it will say, once that is known. */
  will: Said | null = null

  constructor(handler: Dispatcher.DispatchHandler, spoken: Spoken) {
    this.#handler = handler
    this.spoken = spoken
    const controller = {
      pause: () => (this.paused = true),
      resume: () => (this.paused = false),
      abort: (reason: Error) => this.reset(reason),
    }
    this.#controller = controller as unknown as Dispatcher.DispatchController
  }

  get words(): number {
    return this.will?.words ?? 0
  }

  /** What came of it, where it is not compressed. */
  get saidText(): string {
    return Buffer.concat(this.chunks.slice(0, this.said)).toString()
  }

  connect(): void {
    this.phase = 'asked'
    this.#handler.onRequestStart?.(this.#controller, {})
    ;(this.#handler as { onRequestSent?: () => void }).onRequestSent?.()
  }

  head({ status, headers, plain, chunks }: Said): void {
    this.phase = 'answers'
    this.status = status
    this.plain = plain
    this.chunks = chunks
    this.#handler.onResponseStart?.(this.#controller, status, headers, '')
  }

  data(): void {
    const chunk = this.chunks[this.said++]
    if (chunk !== undefined) this.#handler.onResponseData?.(this.#controller, chunk)
  }

  end(): void {
    this.phase = 'over'
    this.isGood = this.will?.isGood === true && this.said === this.chunks.length
    this.#handler.onResponseEnd?.(this.#controller, {})
  }

  reset(reason: Error = Object.assign(new Error('reset'), { code: 'ECONNRESET' })): void {
    if (this.phase === 'over') return
    this.phase = 'over'
    this.#handler.onResponseError?.(this.#controller, reason)
  }
}

/** A ledger in which every hold is counted, and whose answers may be late. */
export class FakeLedger {
  random: Random
  accepting = true
  wall = { now: () => 0 }
  open = 0
  voided = 0
  rows: UsageRow[] = []
  /** Answers of the store that are under way. */
  asked: ((grown: boolean | Error) => void)[] = []
  /** Settlements that the journal has not taken yet. */
  groups: CommitGroup[] = []
  #group: CommitGroup | null = null

  constructor(random: Random) {
    this.random = random
  }

  capUsedUp(): boolean {
    return false
  }

  reserve(_account: unknown, _key: unknown, amount: Micro): Hold {
    this.open++
    return new Hold(null as unknown as Lease, null, null, amount)
  }

  grow(hold: Hold, amount: Micro): boolean {
    const grows = this.random.next() < 0.5
    if (grows) hold.amount += amount
    return grows
  }

  growLater(hold: Hold, amount: Micro): Promise<boolean> {
    return new Promise((resolve, reject) =>
      this.asked.push(grown => {
        if (grown instanceof Error) reject(grown)
        else {
          if (grown && !hold.resolved) hold.amount += amount
          resolve(grown && !hold.resolved)
        }
      }),
    )
  }

  settle(hold: Hold, row: UsageRow): CommitGroup {
    this.#resolve(hold)
    this.rows.push(row)
    if (this.#group === null) queueMicrotask(() => this.write())
    return (this.#group ??= new CommitGroup())
  }

  void(hold: Hold): void {
    this.#resolve(hold)
    this.voided++
  }

  #resolve(hold: Hold): void {
    if (hold.resolved) throw new Error('a hold was resolved twice')
    hold.resolved = true
    this.open--
  }

  write(): void {
    const group = this.#group
    this.#group = null
    if (group === null) return
    if (this.random.next() < 0.7) group.keep()
    else this.groups.push(group) // the journal is full, and the store takes its time
  }
}
