/**
 * Asks one channel for one model with the shortest request of a protocol, whatever its breaker says, for an operator who wants to know
 * whether it works. It goes the way of every request from the point where the upstream is chosen: with the same path, headers and
 * edits. Nobody pays for it here; the upstream may charge some tokens. No breaker hears how it ended.
 */
import type { KeyEntry } from '../access/keys.ts'
import { Socket } from 'node:net'
import { http } from '../base/http.ts'
import { Reply } from '../base/reply.ts'
import { type AttemptOutcome, Claim } from '../channels/health.ts'
import { CLIENT_PROTOCOLS, type Protocol } from '../protocols/names.ts'
import type { ChannelTrial, TrialSeen } from '../terms/channel-seen.ts'
import { Attempt, type AttemptEvents } from '../upstream/attempt.ts'
import type { CompiledChannel } from '../world/compiled-channel.ts'
import type { RouteTable } from '../world/table.ts'
import { SHORT, shortRequest, trialTarget } from './dry-run.ts'
import { giveBack } from './record/ending.ts'
import { Exchange } from './record/exchange.ts'
import type { Services } from './record/services.ts'
import { sendPrepared } from './relay/sending.ts'
import { outcomeOfError, refusesKey, saysBusy } from './relay/asking.ts'

const MOST_MS = 20_000
/** The bytes that are kept of an answer: more than is shown of it, so that a secret at the end of that is whole and found. */
const EXCERPT_BYTES = 8 * 1024

/** What stands in the shortest requests; a protocol without a row has none that is cheap. */
const BODIES: Partial<Record<Protocol, object>> = {
  ...SHORT,
  responses: { max_output_tokens: 16, input: '.' },
  completions: { max_tokens: 1, prompt: '.' },
  embeddings: { input: '.' },
  moderations: { input: '.' },
  rerank: { query: '.', documents: ['.'] },
}

/** The upstream said nothing for so long. */
class NoAnswer extends Error {
  override name = 'NoAnswer'
  readonly code = 'timeout'
}

/** null = this process has no such channel, or it does not have this key, model or protocol. `key`: position from 1. */
export async function tryChannel(services: Services, trial: ChannelTrial): Promise<TrialSeen | null> {
  const { world, health } = services
  const channel = world.routes.channels.find(({ name }) => name === trial.channel)
  const key = channel?.keys[trial.key - 1]
  const upstreamModel = [...(channel?.modelsOf ?? [])].find(([, names]) => names.includes(trial.model))?.[0]
  const protocol = askedIn(trial.protocol)
  const said = BODIES[protocol]
  if (channel === undefined || key === undefined || upstreamModel === undefined || said === undefined) return null
  const x = exchangeFor(services, { ...trial, protocol }, said)
  const translation =
    protocol === trial.protocol ? null : translationBy(world.routes, channel, upstreamModel, trial.protocol)
  if (translation === undefined) return null
  const form = translation === null ? channel.otherForm(protocol, upstreamModel) : null
  const nowMs = services.clock.monotonic()
  const claim = new Claim(health, { channel, upstreamModel, translation, form }, key, nowMs, NOBODY, true)
  try {
    return await new Promise(resolve => new Trial(x, services, claim, resolve).send())
  } finally {
    giveBack(x, services)
  }
}

/** What no client speaks is asked for as the clients of another protocol are served. */
const askedIn = (protocol: Protocol): Protocol => (CLIENT_PROTOCOLS.includes(protocol) ? protocol : 'messages')

/** How its clients are; undefined = the channel serves none. */
const translationBy = (routes: RouteTable, channel: CompiledChannel, upstreamModel: string, via: Protocol) =>
  [...routes.through(channel.name, upstreamModel)]
    .flatMap(({ tiers }) => tiers.flat())
    .find(one => one.channel === channel && one.translation?.via === via)?.translation

/** No account has this id. */
const NOBODY = 0

function exchangeFor(services: Services, { protocol, model }: ChannelTrial, said: object): Exchange {
  const req = new http.IncomingMessage(new Socket())
  req.method = 'POST'
  req.headers = { 'content-type': 'application/json' }
  const { world, clock } = services
  const at = { listener: 'main', path: '', query: '', startedMs: clock.monotonic() } as const
  const x = new Exchange({
    id: services.nextId(),
    world,
    req,
    reply: new Reply(req, new http.ServerResponse(req)),
    ...at,
  })
  x.aimAt(trialTarget({ protocol, model }))
  x.entry = { account: { id: NOBODY }, key: { id: NOBODY, group: '' } } as unknown as KeyEntry
  const { facts, body } = shortRequest(protocol, model, said)
  x.facts = facts
  x.model = model
  x.body = [body]
  x.bodyBytes = body.length
  return x
}

/** Hears of the one attempt. */
class Trial implements AttemptEvents {
  readonly #x: Exchange
  readonly #services: Services
  readonly #attempt: Attempt
  readonly #done: (seen: TrialSeen) => void
  #cancelLate: () => void

  constructor(x: Exchange, services: Services, claim: Claim, done: (seen: TrialSeen) => void) {
    this.#x = x
    this.#services = services
    this.#done = done
    this.#attempt = new Attempt(claim, services.clock, this)
    this.#attempt.keepExcerpt(EXCERPT_BYTES)
    this.#cancelLate = services.clock.after(MOST_MS, () =>
      this.#attempt.abort(new NoAnswer(`nothing for ${MOST_MS} ms`)),
    )
  }

  send(): void {
    sendPrepared(this.#x, this.#services, this.#attempt)
  }

  onHead(): void {}

  onData(attempt: Attempt): void {
    attempt.take() // its excerpt has what is looked at
  }

  onEnd(): void {
    this.#end()
  }

  onError(): void {
    this.#end()
  }

  onFault(error: unknown): void {
    this.#services.log.error({ err: error }, 'trying out a channel failed')
  }

  onOver(): void {
    this.#cancelLate()
  }

  #end(): void {
    const attempt = this.#attempt
    const { status, error, startedMs, firstByteMs } = attempt
    const { clock, upstreamLog } = this.#services
    const outcome = error === null ? outcomeOfStatus(status) : outcomeOfError(error)
    const { upstreamId, ...failure } = upstreamLog.tried(attempt, outcome)
    const isWell = error === null && status < 300
    this.#done({
      status,
      firstByteMs: firstByteMs < 0 ? null : Math.round(firstByteMs - startedMs),
      tookMs: Math.round(clock.monotonic() - startedMs),
      upstreamId,
      failure: isWell ? null : failure,
    })
  }
}

/** A status that blames the request is `ok`: the channel works, and does not take what was sent. */
function outcomeOfStatus(status: number): AttemptOutcome {
  if (refusesKey(status)) return 'auth'
  if (saysBusy(status)) return 'busy'
  return status >= 500 || status === 408 ? 'failed' : 'ok'
}
