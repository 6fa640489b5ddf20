/**
 * Tries out whether a request with a key would be answered, without the key's secret and without a request: the stages from
 * authenticate to reserve run over a small body of our own, and what they have taken is given back. Nothing is sent upstream,
 * nothing is charged, and no refusal is kept. The try counts as one request in the account's rate, as any other.
 */
import { IncomingMessage, ServerResponse } from 'node:http'
import { Socket } from 'node:net'
import { protocolRow } from '../protocols/table.ts'
import { Reply } from '../base/reply.ts'
import type { ErrorName } from '../base/errors.ts'
import type { Protocol } from '../terms/records.ts'
import type { Target } from '../terms/target.ts'
import { Exchange } from './record/exchange.ts'
import { giveBack, storeFailed, NEXT } from './record/ending.ts'
import { MODEL_POSTS, POSTS } from './paths.ts'
import { Plan, stage } from './plan.ts'
import type { Services } from './record/services.ts'
import { admit, judgeFound, throttle } from './stages/key.ts'
import { findCandidates, chooseModel } from './stages/candidates.ts'
import { price, reserve } from './stages/money.ts'

export interface Trial {
  /** SHA-256 of the key's secret. */
  keyHash: string
  /** The client's address. */
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
  const req = new IncomingMessage(new Socket())
  req.method = 'POST'
  req.headers = trial.english ? { 'accept-language': 'en' } : {}
  const reply = new KeptReply(req, new ServerResponse(req))
  const { world, clock } = services
  const at = { listener: 'main', path: '', query: '', startedMs: clock.monotonic() } as const
  const x = new Exchange({ id: services.nextId(), world, req, reply, ...at })
  x.aimAt(targetOf(trial))
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
    x.facts = factsOf(protocol, model)
    x.body = [Buffer.from(JSON.stringify({ model, ...SHORT[protocol] }))]
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

function targetOf({ protocol, model }: Trial): Target | null {
  const fits = ({ endpoint }: Pick<Target, 'endpoint'>) => endpoint.form === protocol && endpoint.action === 'relay'
  const inPath = MODEL_POSTS.find(fits)
  if (inPath !== undefined)
    return { endpoint: inPath.endpoint, model, rawModel: encodeURIComponent(model), verb: inPath.verb }
  return [...POSTS.bare.values()].find(fits) ?? null
}

const JSON_TYPE = 'application/json'
const FORM_TYPE = 'multipart/form-data; boundary=b'

/** What the shortest request for the model says. */
function factsOf(protocol: Protocol, model: string) {
  const { body } = protocolRow(protocol)
  const isJson = body.reads(JSON_TYPE)
  const scan = body.scan(isJson ? JSON_TYPE : FORM_TYPE)
  const form = `--b\r\ncontent-disposition: form-data; name="model"\r\n\r\n${model}\r\n--b--\r\n`
  scan.feed(Buffer.from(isJson ? JSON.stringify({ model, ...SHORT[protocol] }) : form))
  return scan.end()
}

const HELLO = [{ role: 'user', content: '.' }]
/** One token of output, where a protocol has a name for it. */
const SHORT: Partial<Record<Protocol, object>> = {
  messages: { max_tokens: 1, messages: HELLO },
  chat: { max_tokens: 1, messages: HELLO },
  responses: { max_output_tokens: 1, input: '.' },
  generate: { generationConfig: { maxOutputTokens: 1 }, contents: [{ role: 'user', parts: [{ text: '.' }] }] },
}

/** The text of an error without the id of the request, under which nothing can be found. */
const messageIn = (text: string): string =>
  (JSON.parse(text) as { error: { message: string } }).error.message.replace(/ \(request id: \w+\)$/, '')
