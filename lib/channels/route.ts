/** The route of requests with one group, model and protocol: the channels that can serve them, in tiers by priority. */
import type { OutputBounds } from '../protocols/maxima.ts'
import type { Protocol } from '../terms/records.ts'
import type { Target } from '../translate/protocol.ts'
import type { CompiledChannel } from './compiled-channel.ts'

/** A channel that can serve a request, with the upstream's name of the model. */
export interface Candidate {
  readonly channel: CompiledChannel
  readonly upstreamModel: string
  /** The channel speaks another protocol than the client, and the request is translated. null = it speaks the client's. */
  readonly lane: LaneOfCandidate | null
}

/** How a candidate serves clients of a protocol that its channel does not speak. */
export interface LaneOfCandidate {
  /** The protocol in which the channel is asked. */
  readonly via: Protocol
  readonly target: Target
}

/**
 * All candidates for one group, model and protocol, in tiers by falling priority. There are none where the model is
 * temporarily offline: such a request is refused as if every channel were switched off. Those that translate stand in tiers
 * of their own, behind all others.
 */
export interface Route {
  readonly tiers: readonly (readonly Candidate[])[]
  /** Some of the candidates translate. */
  readonly translates: boolean
  /** How those that speak the client's protocol bound their answers: one for each way that differs. */
  readonly bounds: readonly OutputBounds[]
}

interface Building extends Route {
  readonly tiers: Candidate[][]
  translates: boolean
  readonly bounds: OutputBounds[]
}

/** The routes of one model in one group. */
export class ModelRoutes {
  readonly ofProtocol = new Map<Protocol, Building>()
  /** Protocols that an enabled channel speaks, also while the model is offline. */
  readonly spoken: Protocol[] = []
  /** Those of them that an enabled channel serves by translation, and none speaks. */
  readonly translated: Protocol[] = []
  readonly offline: boolean

  constructor(offline: boolean) {
    this.offline = offline
  }

  add(protocol: Protocol, candidate: Candidate): void {
    let route = this.ofProtocol.get(protocol)
    if (route === undefined) this.ofProtocol.set(protocol, (route = { tiers: [], translates: false, bounds: [] }))
    if (candidate.channel.enabled && !this.spoken.includes(protocol)) {
      this.spoken.push(protocol)
      if (candidate.lane !== null) this.translated.push(protocol)
    }
    if (this.offline) return
    if (candidate.lane !== null) route.translates = true
    else if (candidate.channel.enabled) addBounds(route.bounds, candidate.channel.bounds[protocol])
    const last = route.tiers.at(-1)
    const [first] = last ?? []
    const isSameTier =
      first?.channel.priority === candidate.channel.priority && (first.lane === null) === (candidate.lane === null)
    if (isSameTier) last?.push(candidate)
    else route.tiers.push([candidate])
  }

  get offered(): readonly Protocol[] {
    return this.offline ? [] : this.spoken
  }
}

function addBounds(all: OutputBounds[], one: OutputBounds): void {
  const { reads, within, readsBudget } = one
  if (!all.some(it => it.reads === reads && it.within === within && it.readsBudget === readsBudget)) all.push(one)
}
