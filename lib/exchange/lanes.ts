/** Finds out how the request of an exchange is said to an upstream of another protocol: it is read once, and written once for each target. */
import type { Candidate, LaneOfCandidate } from '../channels/table.ts'
import type { Facts } from '../protocols/facts.ts'
import { protocolRow } from '../protocols/table.ts'
import type { Protocol } from '../terms/records.ts'
import type { Ask } from '../translate/ask.ts'
import { type Lane, Lanes, type NoLane } from '../translate/lane.ts'
import { Untranslatable } from '../translate/loss.ts'
import { translated } from '../translate/table.ts'
import { takeMemory } from './body-memory.ts'
import type { Exchange } from './exchange.ts'
import { wantsArray, wantsEvents } from './request.ts'
import type { Services } from './services.ts'

/** Reading a body holds up all other requests for some milliseconds a MiB. */
const MOST_BYTES = 16 * 1024 * 1024
const JSON_TYPE = 'application/json'

const isNone = (lane: Lane | Ask | NoLane): lane is NoLane => lane === 'memory' || 'field' in lane

/** Throws what is a fault of ours. */
function madeFor(x: Exchange, services: Services, candidate: LaneOfCandidate): Lane | NoLane {
  x.lanes ??= new Lanes()
  const { made } = x.lanes
  let lane = made.get(candidate.target)
  if (lane === undefined) made.set(candidate.target, (lane = make(x, x.lanes, services, candidate)))
  return lane
}

function make(x: Exchange, lanes: Lanes, services: Services, { via, target }: LaneOfCandidate): Lane | NoLane {
  try {
    lanes.ask ??= readAsk(x, services)
    const { ask } = lanes
    if (isNone(ask)) return ask
    const { body: text, names, losses } = translated(via).writeAsk(ask, target)
    const body = Buffer.from(text, 'latin1')
    if (!takes(x, services, body.length)) return 'memory'
    const scan = protocolRow(via).body.scan(JSON_TYPE)
    scan.feed(body)
    return { via, target, ask, body, facts: scan.end() as Facts, names, losses }
  } catch (error) {
    if (error instanceof Untranslatable) return { field: error.field }
    throw error
  }
}

/** The body as one text takes as much memory as the body. */
function readAsk(x: Exchange, services: Services): Ask | NoLane {
  if (x.bodyBytes > MOST_BYTES) throw new Untranslatable('body')
  if (!takes(x, services, x.bodyBytes)) return 'memory'
  const [first] = x.body
  const body = x.body.length === 1 && first !== undefined ? first : Buffer.concat(x.body)
  return translated(x.protocol as Protocol).readAsk(body, { model: x.model, stream: wantsEvents(x) || wantsArray(x) })
}

const takes = (x: Exchange, { buffered }: Services, bytes: number): boolean =>
  takeMemory(x, buffered, bytes, x.world.config.limits.bufferedBytes)

/** The lane of a candidate that was found to have one when it was chosen. null = it speaks the client's protocol. */
export function laneOf(x: Exchange, services: Services, { lane }: Candidate): Lane | null {
  if (lane === null) return null
  const made = madeFor(x, services, lane)
  if (isNone(made)) throw new Error('a candidate was chosen that cannot be asked')
  return made
}

/** Whether the request can be said to a candidate. */
export function canAsk(x: Exchange, services: Services, { lane }: Candidate): boolean {
  if (lane === null) return true
  const made = madeFor(x, services, lane)
  const { named } = x.lanes as Lanes
  if (!isNone(made)) return named === null || [...made.losses].every(word => named.has(word))
  ;(x.lanes as Lanes).refused ??= made
  return false
}
