/**
 * How an exchange ends. A stage, or whoever acts for it, answers it with a row of the error table (`refuse`) or with any other whole
 * answer; `fail` ends it after a fault of ours, `onClose` when its connection is done; and `finish` is the one way out.
 */
import { ERRORS, type ErrorName, type ErrorRow, renderError } from '../../base/errors.ts'
import { prefersEnglish } from '../../base/language.ts'
import type { Exchange, ListenerName } from './exchange.ts'
import type { Services } from './services.ts'
import type { KeyEntry } from '../../access/keys.ts'
import { addressOf, dropBody, takeMemory } from './request.ts'
import { StoreUnavailable } from '../../store/base/errors.ts'
import { beginLine, endLine, quoted, quotedFromClient } from '../../base/log.ts'
import { formatMicro } from '../../base/money.ts'
import type { Protocol } from '../../protocols/names.ts'
import type { UsageRow } from '../../terms/usage-row.ts'

/**
 * What a stage returns: whether the next stage runs. Verdicts are numbers, because the usual exchange goes through a dozen stages
 * and should allocate nothing for them. A stage returns a promise only where it waits for something: for a key that is not in
 * memory, or for a lease.
 */
export const NEXT = 0
/** No further stage runs: the exchange has its answer, or something else will give it one. */
export const DONE = 1
export type StageVerdict = typeof NEXT | typeof DONE
export type StageResult = StageVerdict | Promise<StageVerdict>

/** The status of an exchange whose client left before a status could be sent. Web servers log this number for it. */
export const CLIENT_CLOSED = 499

/** Seconds a client is asked to wait when nothing tells a better number. Small: some clients give up on large ones. */
const RETRY_AFTER_S = 2
/** One official client ignores what is longer and asks again at once; another one sleeps for all of it. */
const LONGEST_WAIT_S = 60
const waitS = (s: number): number => Math.min(LONGEST_WAIT_S, Math.max(1, Math.ceil(s || RETRY_AFTER_S)))
const JSON_UTF8 = 'application/json; charset=utf-8'

/** A page of any site may read the whole answer: there are no cookies, so nobody but the holder of the key can ask. */
const FOR_PAGES = '\r\naccess-control-allow-origin: *\r\naccess-control-expose-headers: *'

/**
 * Begins an answer with these headers, `[name, value, …]`, behind those that every answer has; those that are the same in all come
 * first.
 */
export function beginAnswer(x: Exchange, status: number, headers: readonly string[], nowMs: number): void {
  const { id, rateLines, req } = x
  const own = `\r\nx-request-id: ${id}\r\nrequest-id: ${id}${rateLines}`
  x.status = status
  x.reply.begin(status, headers, nowMs, req.headers.origin === undefined ? own : own + FOR_PAGES)
}

/** Whether a path that is none of ours looks like one of the messages protocol. */
export const speaksMessages = (path: string): boolean => /\/messages(\/|$)/.test(path)

/** Answers with a row of the error table. Nothing more is to be done then, which is what it returns. */
export function refuse(
  x: Exchange,
  services: Services,
  name: ErrorName,
  args: string[] = [],
  retryAfterS = 0,
): StageVerdict {
  if (x.answered) return DONE // from outside of its plan, while a stage was waiting
  const row: ErrorRow = ERRORS[name]
  if (!row.isLookUp) x.refusal = name
  const endpoint = x.target?.endpoint
  const messages = endpoint === undefined ? speaksMessages(x.path) : endpoint.typesErrors
  const body = Buffer.from(renderError(name, args, x.id, prefersEnglish(x.req.headers['accept-language']), messages))
  const headers = ['content-type', JSON_UTF8]
  if (row.header !== undefined) headers.push(...row.header)
  if (row.retry === 'never') headers.push('x-should-retry', 'false')
  if (row.retry === 'later') headers.push('retry-after', String(waitS(retryAfterS)))
  answer(x, services, row.status, headers, body)
  return DONE
}

/** A whole answer of our own, of status 200. */
export function answerJson(x: Exchange, services: Services, body: Buffer): void {
  answer(x, services, 200, ['content-type', JSON_UTF8], body)
}

/** Larger answers to what costs nothing count in `limits.buffered` until they have left: many clients of an account may not read theirs. */
const COUNTED_BYTES = 16 * 1024

/** A whole answer of our own. `headers`: those of `beginAnswer`. */
export function answer(x: Exchange, services: Services, status: number, headers: string[], body: Buffer): void {
  if (x.answered) return // from outside of its plan, while a stage was waiting
  dropBody(x, services.buffered)
  if (x.left) {
    x.answered = true
    x.status ||= CLIENT_CLOSED
    finish(x, services)
    return
  }
  // not for a client that has left: what is counted here is given back when its connection closes
  if (body.length > COUNTED_BYTES && !hasRoom(x, services, body.length)) {
    refuse(x, services, 'unavailable')
    return
  }
  x.answered = true
  headers.push('content-length', String(body.length))
  beginAnswer(x, status, headers, services.clock.now())
  x.reply.end(body)
}

function hasRoom(x: Exchange, { buffered }: Services, bytes: number): boolean {
  return x.relay !== null || x.entry === null || takeMemory(x, buffered, bytes, x.world.config.limits.bufferedBytes)
}

/** Something of ours broke: the client gets the 500 row where it can, and the exchange ends in any case. */
export function fail(x: Exchange, services: Services, error: unknown): void {
  services.log.error({ id: x.id, err: error }, 'exchange failed')
  try {
    if (x.relay !== null) x.relay.stop('internal')
    else if (!x.answered && !x.left) refuse(x, services, 'internal')
  } catch (another) {
    services.log.error({ id: x.id, err: another }, 'exchange failed to fail')
    x.reply.destroy()
    finish(x, services)
  }
}

/** Runs what an event asks for: what is thrown on the way ends this exchange and reaches nobody else. */
export function guard(x: Exchange, services: Services, act: (x: Exchange, services: Services) => void): void {
  try {
    act(x, services)
  } catch (error) {
    fail(x, services, error)
  }
}

/** The response's connection is done: the answer was delivered, or the client left. */
export function onClose(x: Exchange, services: Services): void {
  x.closed = true
  x.left = !x.answered
  if (x.relay === null || x.relay.state.isEnding) finish(x, services)
  else if (x.left) guard(x, services, leave)
}

const leave = (x: Exchange): void => x.relay?.leave()

/** A store that does not answer is a 503, never a refusal that blames the client. Any other error is a fault of ours. */
export function storeFailed(x: Exchange, services: Services, error: unknown): StageVerdict {
  if (error instanceof StoreUnavailable) return refuse(x, services, 'unavailable')
  fail(x, services, error)
  return DONE
}

/**
 * Ends an exchange. It runs exactly once for each one, however it went: it gives back the money, the memory and the places that
 * the exchange still has, counts the metrics and writes one log line. An error in here is logged, and disturbs no other exchange.
 */
export function finish(x: Exchange, services: Services): void {
  if (x.finished) return
  x.finished = true
  try {
    services.openCount--
    if (x.status === 0) x.status = CLIENT_CLOSED
    giveBack(x, services)
    const nowMs = services.clock.now()
    if (x.row !== null && x.entry !== null) services.keyUses.note(x.entry.key.id, addressOf(x), nowMs)
    if (x.refusal !== null && x.entry !== null && x.attempts === 0) services.refusals.note(x, x.entry, x.refusal)
    const totalMs = services.clock.monotonic() - x.startedMs
    services.traffic.note(x, nowMs)
    count(x, services, totalMs)
    log(x, services, nowMs, totalMs)
  } catch (error) {
    services.log.error({ id: x.id, err: error }, 'exchange failed to finish')
  }
}

/** Gives back everything that the stages have taken for the exchange. */
export function giveBack(x: Exchange, services: Services): void {
  x.relay?.release()
  dropBody(x, services.buffered)
  if (x.hold !== null && !x.hold.resolved) services.ledger.void(x.hold)
  if (x.uncovered) giveRightBack(x, services)
  if (x.entered && x.entry !== null) services.places.leave(x.entry.account.id)
  if (x.relay === null) x.claim?.drop() // chosen and never asked
}

/** Gives the right to an uncovered request back: the account of the exchange may have another such request open. */
export function giveRightBack(x: Exchange, { uncovered }: Services): void {
  if (!x.uncovered) return
  x.uncovered = false
  uncovered.give((x.entry as KeyEntry).account.id, x.id)
}

function count(x: Exchange, { metrics }: Services, totalMs: number): void {
  const protocol = x.protocol ?? 'none'
  metrics.inflight(protocol, -1)
  metrics.request(protocol, x.status, totalMs / 1000)
  metrics.overhead((totalMs - x.upstreamMs) / 1000)
  if (x.refusal !== null) metrics.refusal(x.refusal)
  const { row } = x
  if (row === null) return
  metrics.settlement(x.world.modelNames.has(row.model) ? row.model : 'other', row)
  if (row.firstByteMs !== null) metrics.firstByte(row.protocol, row.channel, row.firstByteMs / 1000)
}

// --- the line of the log that each request has, written by hand, in few pieces: what the lines of a key, or of an address of the API,
// have in common is made once, as bytes, which do not keep others of Buffer's pool in memory

const utf8 = new TextEncoder()

/** What stands between the id and the status. */
interface Asked {
  method: string
  protocol: Protocol | null
  /** Up to the model. */
  text: string
  /** With a model and what follows it, by the models of the catalogue. */
  readonly ofModels: Map<string, Uint8Array>
}

/** By the listener and the path, of endpoints that have one path. */
const askedAt: Readonly<Record<ListenerName, Map<string, Asked>>> = { main: new Map(), direct: new Map() }
/** Texts that are kept under names, which may change while the process runs. */
const MOST_TEXTS = 1000

function kept(texts: Map<string, Uint8Array>, name: string, text: Uint8Array): Uint8Array {
  if (texts.size >= MOST_TEXTS) texts.clear()
  texts.set(name, text)
  return text
}

const withModel = (text: string, model: string): Uint8Array =>
  utf8.encode(`${text}${quotedFromClient(model)},"status":`)

function asked({ listener, method, path, protocol, target, model, world }: Exchange): Uint8Array {
  const ofPaths = askedAt[listener]
  let known = ofPaths.get(path)
  if (known?.method !== method || known.protocol !== protocol) {
    const ofProtocol = protocol === null ? 'null' : `"${protocol}"`
    const ofPath = `","listener":"${listener}","method":${quoted(method)},"path":${quotedFromClient(path)}`
    const text = `${ofPath},"protocol":${ofProtocol},"model":`
    if (target === null || target.model !== null) return withModel(text, model)
    known = { method, protocol, text, ofModels: new Map() }
    ofPaths.set(path, known)
  }
  const { text, ofModels } = known
  const ofModel = ofModels.get(model)
  if (ofModel !== undefined) return ofModel
  const whole = withModel(text, model)
  return model === '' || world.modelNames.has(model) ? kept(ofModels, model, whole) : whole
}

/** What stands between the attempts and the charge, by the channel, of answers that came to their end and have a report. */
const ofChannels = new Map<string, Uint8Array>()

function answered({ channel, end, basis }: UsageRow): Uint8Array {
  const isUsual = end === 'completed' && basis === 'reported'
  const known = isUsual ? ofChannels.get(channel) : undefined
  if (known !== undefined) return known
  const text = utf8.encode(`,"channel":${quoted(channel)},"end":"${end}","basis":"${basis}","charge":"`)
  return isUsual ? kept(ofChannels, channel, text) : text
}

/** Texts of keys, each with the address from which its key was used last. */
const ofKeys = new WeakMap<KeyEntry, { address: string; text: Uint8Array }>()

function ofSender(entry: KeyEntry | null, address: string): Uint8Array {
  if (entry === null) return utf8.encode(quoted(address))
  const known = ofKeys.get(entry)
  if (known?.address === address) return known.text
  const { account, key } = entry
  const ofAccount = `${quoted(address)},"account":${account.id},"account_name":${quoted(account.name)}`
  const text = utf8.encode(`${ofAccount},"key":${key.id},"key_name":${quoted(key.name)}`)
  ofKeys.set(entry, { address, text })
  return text
}

function log(x: Exchange, { log }: Services, nowMs: number, totalMs: number): void {
  const line = beginLine(log, nowMs)
  if (line === null) return
  const { row, entry, refusal } = x
  line.raw('"id":"')
  line.raw(x.id)
  line.copy(asked(x))
  line.value(x.status)
  line.raw(',"refusal":')
  line.value(refusal)
  line.raw(',"address":')
  line.copy(ofSender(entry, addressOf(x)))
  line.raw(',"attempts":')
  line.value(x.attempts)
  if (row !== null) {
    line.copy(answered(row))
    line.raw(formatMicro(row.charge))
    line.raw('","input":')
    line.value(row.input)
    line.raw(',"output":')
    line.value(row.output)
    line.raw(',"first_byte_ms":')
    line.value(row.firstByteMs)
  }
  line.raw(',"duration_ms":')
  line.value(Math.round(totalMs))
  endLine(log)
}
