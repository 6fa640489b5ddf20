/**
 * Tries out whether a request with a key would be answered, without the key's secret and without a request: the stages from
 * authenticate to reserve run over a small body of our own, and what they have taken is given back. Nothing is sent upstream,
 * nothing is charged, and no refusal is kept. The try counts as one request in the account's rate, as any other.
 *
 * A client tries out a request of its own in the same way, and is told what would be held for it and what it could cost at most. That
 * counts as one request of those that are free.
 */
import { Socket } from 'node:net'
import type { Claim } from '../channels/health.ts'
import { mostPicturesCaused, mostSearchesCaused } from '../pricing/bound.ts'
import type { Tariff } from '../pricing/tariff.ts'
import { JsonScanner, type JsonKind, type ScanEvents } from '../protocols/json/scanner.ts'
import { decode } from '../protocols/json/text.ts'
import type { Facts } from '../protocols/requests/facts.ts'
import type { Protocol } from '../protocols/names.ts'
import { protocolRow } from '../protocols/table.ts'
import { INPUT_CLASSES, NO_TIERS, noUsage, OUTPUT_CLASSES } from '../protocols/words/usage.ts'
import { decimal } from '../base/money.ts'
import { http } from '../base/http.ts'
import { Reply } from '../base/reply.ts'
import { inSlices } from '../base/slices.ts'
import type { ErrorName } from '../base/errors.ts'
import type { Target } from '../terms/target.ts'
import { Exchange } from './record/exchange.ts'
import { answerJson, DONE, giveBack, refuse, storeFailed, NEXT, type StageVerdict } from './record/ending.ts'
import { boundsAt, mostOutputOf, needOf, tariffOfAll } from './record/need.ts'
import { translatedFor } from './record/translated-request.ts'
import { findTarget, MODEL_POSTS, POSTS } from './paths.ts'
import { Plan, stage } from './plan.ts'
import type { Services } from './record/services.ts'
import { admit, judgeFound, throttle } from './stages/key.ts'
import { findCandidates, findMaker, chooseModel } from './stages/candidates.ts'
import { price, reserve } from './stages/money.ts'

export interface Trial {
  /** SHA-256 of the key's secret. */
  keyHash: string
  address: string
  model: string
  protocol: Protocol
  english: boolean
}

/** In the order in which they are asked. */
const TRIED = ['authenticate', 'admit', 'throttle', 'body', 'model', 'candidates', 'price', 'reserve'] as const

/** `stage`: the one that would refuse, with this error of the table, its status and text; null = none would. */
export interface Tried {
  stage: (typeof TRIED)[number] | null
  reason: ErrorName | null
  status: number | null
  message: string | null
}

/** Keeps the answer, which has no connection. */
class KeptReply extends Reply {
  status = 0
  text = ''

  override begin(status: number): void {
    this.status = status
  }

  override end(chunk?: Buffer): void {
    this.text = chunk?.toString() ?? ''
  }
}

export async function dryRun(services: Services, trial: Trial): Promise<Tried> {
  const req = new http.IncomingMessage(new Socket())
  req.method = 'POST'
  req.headers = trial.english ? { 'accept-language': 'en' } : {}
  const reply = new KeptReply(req, new http.ServerResponse(req))
  const { world, clock } = services
  const at = { listener: 'main', path: '', query: '', startedMs: clock.monotonic() } as const
  const x = new Exchange({ id: services.nextId(), world, req, reply, ...at })
  x.aimAt(trialTarget(trial))
  x.isTrial = true
  x.address = trial.address
  x.addressIn = world
  try {
    for (const [i, one] of stagesOf(trial).entries()) {
      if ((await one(x, services)) === NEXT) continue
      return { stage: TRIED[i] ?? null, reason: x.refusal, status: reply.status, message: messageIn(reply.text) }
    }
    return { stage: null, reason: null, status: null, message: null }
  } finally {
    giveBack(x, services)
  }
}

function stagesOf({ keyHash, protocol, model }: Trial) {
  const known = stage<'target', 'key'>((x, services) => {
    const found = services.keys.byDigest(keyHash)
    if (!(found instanceof Promise)) return judgeFound(x, services, found)
    return found.then(
      entry => judgeFound(x, services, entry),
      error => storeFailed(x, services, error),
    )
  })
  const said = stage<'throttled', 'body' | 'confirmed' | 'maker'>(x => {
    const { facts, body } = shortRequest(protocol, model)
    x.facts = facts
    x.body = [body]
    return NEXT
  })
  return new Plan<'target'>()
    .step(known)
    .step(admit)
    .step(throttle)
    .step(said)
    .step(chooseModel)
    .step(findCandidates)
    .step(price)
    .step(reserve).stages
}

export function trialTarget({ protocol, model }: Pick<Trial, 'protocol' | 'model'>): Target | null {
  const fits = ({ endpoint }: Pick<Target, 'endpoint'>) => endpoint.form === protocol && endpoint.action === 'relay'
  const inPath = MODEL_POSTS.find(fits)
  if (inPath !== undefined)
    return { endpoint: inPath.endpoint, model, rawModel: encodeURIComponent(model), verb: inPath.verb }
  return [...POSTS.bare.values()].find(fits) ?? null
}

const JSON_TYPE = 'application/json'
const FORM_TYPE = 'multipart/form-data; boundary=b'

/** The shortest request for the model, and what it says. `said`: what stands in it beside the model. */
export function shortRequest(protocol: Protocol, model: string, said = SHORT[protocol]) {
  const row = protocolRow(protocol)
  const isJson = row.body.reads(JSON_TYPE)
  const scan = row.body.scan(isJson ? JSON_TYPE : FORM_TYPE)
  const form = `--b\r\ncontent-disposition: form-data; name="model"\r\n\r\n${model}\r\n--b--\r\n`
  const body = Buffer.from(isJson ? JSON.stringify({ model, ...said }) : form)
  scan.feed(body)
  return { facts: scan.end(), body }
}

const HELLO = [{ role: 'user', content: '.' }]
/** One token of output, where a protocol has a name for it. */
export const SHORT: Partial<Record<Protocol, object>> = {
  messages: { max_tokens: 1, messages: HELLO },
  chat: { max_tokens: 1, messages: HELLO },
  responses: { max_output_tokens: 1, input: '.' },
  generate: { generationConfig: { maxOutputTokens: 1 }, contents: [{ role: 'user', parts: [{ text: '.' }] }] },
}

/** The text of an error without the id of the request, under which nothing can be found. */
const messageIn = (text: string): string =>
  (JSON.parse(text) as { error: { message: string } }).error.message.replace(/ \(request id: \w+\)$/, '')

// --- a request that a client describes

const ASKED = new Plan<'body' | 'confirmed' | 'key'>()
  .step(chooseModel)
  .step(findMaker)
  .step(findCandidates)
  .step(price)
const HELD = ASKED.step(reserve).stages

/** Tells what a request would have held and could cost at most, or why it would be refused: `{path, body}`, as it would be sent. */
export const estimateRequest = stage<'admitted' | 'body' | 'confirmed', never>((x, services) =>
  estimate(x, services).catch(error => storeFailed(x, services, error)),
)

async function estimate(x: Exchange, services: Services): Promise<StageVerdict> {
  const { clock } = services
  const isOver = (): boolean => x.left || x.answered
  const said = new Described()
  if (!(await inSlices(clock, x.body, piece => said.feed(piece), isOver))) return DONE
  const asked = described(x, said)
  if (typeof asked === 'string')
    return asked === '' ? refuse(x, services, 'not_json') : refuse(x, services, 'field', [asked])
  const { target, path, query, body } = asked
  const { world, listener, id, req, startedMs } = x
  const reply = new KeptReply(req, new http.ServerResponse(req))
  const inner = new Exchange({ id, listener, world, req, reply, path, query, startedMs })
  inner.aimAt(target)
  inner.isTrial = true
  inner.entry = x.entry
  const scan = protocolRow(inner.form as Protocol).body.scan(JSON_TYPE)
  if (!(await inSlices(clock, [body], piece => scan.feed(piece), isOver))) return DONE
  inner.facts = scan.end()
  inner.body = [body]
  inner.bodyBytes = body.length
  if (inner.facts === null) return refuse(x, services, 'not_json')
  if (inner.facts.invalid !== null) return refuse(x, services, 'field', [inner.facts.invalid])
  const told = await measure(inner, services, reply)
  answerJson(x, services, Buffer.from(JSON.stringify(told)))
  return DONE
}

/** The request that the body of an estimate describes; a text: the member that is wrong, empty = the body is no JSON object. */
function described(
  x: Exchange,
  said: Described,
): { target: Target; path: string; query: string; body: Buffer } | string {
  if (!said.isWhole) return ''
  const { path: url, body } = said
  if (url === null) return 'path'
  const at = url.indexOf('?')
  const [path, query] = at < 0 ? [url, ''] : [url.slice(0, at), url.slice(at + 1)]
  const target = findTarget({ method: 'POST', path, query, req: x.req, world: x.world })
  if (target === null || target.endpoint.action !== 'relay') return 'path'
  if (!protocolRow(target.endpoint.form as Protocol).body.reads(JSON_TYPE)) return 'path' // forms are not taken
  return body === null ? 'body' : { target, path, query, body: Buffer.concat(x.body).subarray(body.start, body.end) }
}

const LONGEST_PATH = 8192

/**
 * Finds `path` and `body` in the body of an estimate, of which only the top is read: parsing a hundred thousand members takes a long
 * time, in which all other exchanges wait. Of several with the same name none counts.
 */
class Described implements ScanEvents {
  /** Begins with a slash; null = there is none. */
  path: string | null = null
  body: { start: number; end: number } | null = null
  readonly #seen = new Set<string>()
  readonly #scanner = new JsonScanner(this)

  feed(piece: Buffer): void {
    this.#scanner.feed(piece)
  }

  /** False: it is no JSON object. */
  get isWhole(): boolean {
    return this.#scanner.complete
  }

  wants(key: string): number {
    return key === 'path' ? LONGEST_PATH : 0
  }

  member(key: string, kind: JsonKind, start: number, end: number, text: string | null): void {
    if (key !== 'path' && key !== 'body') return
    const isFirst = !this.#seen.has(key)
    this.#seen.add(key)
    if (key === 'body') this.body = isFirst && kind === 'object' ? { start, end } : null
    else {
      const path = isFirst && kind === 'string' && text !== null ? decode(text) : null
      this.path = path?.startsWith('/') ? path : null
    }
  }
}

interface Estimated {
  model: string
  price_version: number | null
  multiplier: number | null
  /** CNY: held before the request is sent, and the most that it can cost whatever its upstream reports. null = it has no price. */
  held: number | null
  bound: number | null
  refusal: { status: number; message: string } | null
}

async function measure(inner: Exchange, services: Services, reply: KeptReply): Promise<Estimated> {
  let refusal: Estimated['refusal'] = null
  try {
    for (const one of HELD) {
      if ((await one(inner, services)) === NEXT) continue
      refusal = { status: reply.status, message: messageIn(reply.text) }
      break
    }
    const { tariff, claim, model } = inner
    const isPriced = tariff !== null && claim !== null
    return {
      model,
      price_version: tariff?.priceVersion ?? null,
      multiplier: tariff === null ? null : decimal(tariff.multiplier),
      held: isPriced ? decimal(inner.hold?.amount ?? needOf(inner, services, claim.candidate, 'worst')) : null,
      bound: isPriced ? decimal(mostCharged(inner, services, tariff, claim)) : null,
      refusal,
    }
  } finally {
    giveBack(inner, services)
  }
}

/** The dearest answer that the request can have caused at the channel that would be asked first, without fees of tools but searches. */
function mostCharged(x: Exchange, services: Services, asked: Tariff, { candidate }: Claim): number {
  // of a translated request, what its upstream would be asked
  const facts = translatedFor(x, services, candidate)?.facts ?? (x.facts as Facts)
  const tariff = tariffOfAll(x, candidate.channel, facts.otherModels)
  const input = tariff.mostInput(facts.prompt, 0)
  const output = mostOutputOf(x, services, tariff, facts, boundsAt(x, candidate))
  const usage = {
    ...noUsage(),
    images: asked.pricesPictures
      ? mostPicturesCaused(facts, candidate.translation?.via ?? (x.protocol as Protocol))
      : 0,
    searches: asked.pricesSearches && facts.tools.length > 0 ? mostSearchesCaused(facts) : 0,
    seconds: facts.mostUploadS,
    characters: facts.characters,
  }
  const tiers = facts.tiers === NO_TIERS ? {} : { tiers: { asked: facts.tiers, reported: NO_TIERS } }
  const pictures = usage.images === 0 ? {} : { pictures: { asked: facts.picture, reported: [] } }
  let most = 0
  for (const read of INPUT_CLASSES)
    for (const written of OUTPUT_CLASSES) {
      const answer = { usage: { ...usage, [read]: input, [written]: output }, ...tiers, ...pictures }
      most = Math.max(most, tariff.bill(answer).charge)
    }
  return most
}
