/**
 * Tells a client that asked for it what its stream cost: the members stand in the last usage of the stream. That event, and what
 * follows it, waits until the charge is known, which is when the end of the answer is in sight. Nothing else of the stream waits, and
 * a stream that nobody asked about never comes here.
 */
import { type Fields, fieldsOf, isFields } from '../json/text.ts'
import { valueIn, Withholder } from './withhold.ts'

/** The most bytes of an event in which the cost is told, and of what waits: events at the end of a stream may repeat all of it. */
const LONGEST_WAITING = 256 * 1024
/** What the upstream says of its own charge, of which clients are told nothing. */
const OF_UPSTREAM = ['cost', 'cost_details', 'is_byok']

export class CostTeller extends Withholder {
  readonly #usageOf: (event: Fields) => unknown
  readonly #cost: () => Fields | null
  /** The newest event with usage, and what came behind it. */
  #waiting: Buffer[] = []
  #waitingBytes = 0

  /** `usageOf`: the usage of an event, where the event may be the last one that has it. `cost`: the members; null = not known yet. */
  constructor(usageOf: (event: Fields) => unknown, cost: () => Fields | null) {
    super(null, LONGEST_WAITING)
    this.#usageOf = usageOf
    this.#cost = cost
  }

  override push(chunk: Buffer): Buffer[] | null {
    const passed = super.push(chunk, 0)
    const out = passed === null ? [] : Array.isArray(passed) ? passed : [passed]
    if (this.#waiting.length > 0 && this.#cost() !== null) out.push(...this.#take())
    return out.length === 0 ? null : out
  }

  protected override sort(event: Buffer, out: Buffer[]): void {
    const isLast = event.includes('sage') && isFields(this.#usageOf(fieldsOf(valueIn(event))))
    if (isLast) this.#release(out)
    if (!isLast && this.#waiting.length === 0) out.push(event)
    else {
      this.#waiting.push(Buffer.from(event))
      this.#waitingBytes += event.length
      if (this.#waitingBytes > 2 * LONGEST_WAITING) this.#release(out)
    }
  }

  /** What waits goes on as it came. */
  #release(out: Buffer[]): void {
    out.push(...this.#waiting)
    this.#waiting = []
    this.#waitingBytes = 0
  }

  #take(): Buffer[] {
    const [first, ...rest] = this.#waiting
    this.#waiting = []
    this.#waitingBytes = 0
    const cost = this.#cost()
    return first === undefined ? [] : [cost === null ? first : this.#told(first, cost), ...rest]
  }

  #told(event: Buffer, cost: Fields): Buffer {
    const value = valueIn(event)
    const usage = fieldsOf(this.#usageOf(fieldsOf(value)))
    for (const name of OF_UPSTREAM) delete usage[name]
    Object.assign(usage, cost)
    const lines = event.toString().trimEnd().split(/\r?\n/)
    const others = lines.filter(line => !line.startsWith('data:'))
    return Buffer.from(`${[...others, `data: ${JSON.stringify(value)}`].join('\n')}\n\n`)
  }

  /** The stream has ended: what waited, and what was held back of an event without its end. */
  override flush(): Buffer | null {
    const out: Buffer[] = []
    const rest = super.flush()
    if (rest !== null) this.sort(rest, out)
    const all = [...out, ...this.#take()]
    return all.length === 0 ? null : Buffer.concat(all)
  }
}
