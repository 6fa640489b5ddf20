/**
 * A small model of a relay: what may be said of it from outside, by what has happened to it so far. It knows nothing of how the
 * relay does what it does, and throws where it does something else.
 */
import assert from 'node:assert/strict'
import type { Exchange } from '../../../lib/exchange/record/exchange.ts'
import type { Relay } from '../../../lib/exchange/relay/relay.ts'
import type { Transition } from '../../../lib/exchange/relay/states.ts'
import { USAGE, wordsIn } from './answers.ts'
import type { Elsewhere } from './elsewhere.ts'
import type { FakeLedger, FakeReply, FakeUpstream } from './fakes.ts'

/** What the gateway itself may say between two events. */
/** Signs of life of a stream whose head was sent before an upstream had answered. */
const EMPTY_LINES = /^\n+/
const KEEP_ALIVE = 'event: ping\ndata: {"type":"ping"}\n\n'

export interface Scene {
  x: Exchange
  relay: Relay
  reply: FakeReply
  ledger: FakeLedger
  elsewhere: Elsewhere
  upstreams: FakeUpstream[]
  /** Transitions so far. */
  trace: Transition[]
  /** The client's connection is closed. */
  isClosed: boolean
  /** A fault, a process that ends, or a thread that refused or died, so that any answer may come to nothing. */
  isDisturbed: boolean
}

/** What holds after every event. */
export function check({ x, relay, reply, ledger, upstreams, trace }: Scene): void {
  const state = relay.state.now
  assert.deepEqual(reply.late, [], 'nothing is told after the end')
  assert.ok(reply.ends <= 1, 'an answer ends once')
  assert.ok(ledger.rows.length + ledger.voided <= 1, 'an exchange is resolved once')
  assert.equal(ledger.rows.length, x.row === null ? 0 : 1, 'the row is that of the settlement')
  if (upstreams.every(({ status }) => status === 0)) assert.match(state, /^(asking|ending)$/, 'nothing was heard')
  if (upstreams.every(({ said }) => said === 0))
    assert.match(state, /^(asking|judging|keeping|ending)$/, 'no byte came')
  if (x.row !== null) assert.match(state, /^(keeping|ending)$/, 'what is charged only ends')
  const asked = upstreams.filter(({ phase }) => phase !== 'over')
  if (state === 'relaying')
    assert.ok(
      asked.every(({ paused }) => !paused),
      'an answer that is relayed is not held up',
    )
  const isDone = relay.flow.isDone || relay.asking.current.over
  if (state === 'waiting') assert.ok(isDone || asked.some(({ paused }) => paused), 'who waits holds it up')
  if (state === 'asking') assert.equal(x.row, null)
  assert.equal(trace.filter(name => name === 'leave').length <= 1, true, 'a client leaves once')
  const [end, ...more] = trace.filter(name => ENDS.has(name))
  assert.deepEqual(more, [], 'a relay ends once')
  assert.equal(end !== undefined, state === 'ending')
  if (state === 'asking' || state === 'judging')
    assert.ok(reply.ends === 0 || relay.response.isMuted, 'nobody has answered')
}

const ENDS = new Set<Transition>(['end', 'breakOff', 'takeBack', 'giveUp', 'stop', 'estimate', 'cut', 'abandon'])

/** What holds when the exchange is over. */
export function checkOver(scene: Scene): void {
  const { x, relay, reply, ledger, upstreams, trace, isClosed, isDisturbed } = scene
  assert.ok(x.finished, 'it is finished')
  assert.equal(relay.state.now, 'ending')
  assert.equal(ledger.open, 0, 'no hold is left')
  assert.equal(ledger.rows.length + ledger.voided, x.hold === null ? 0 : 1, 'the hold was resolved')
  assert.ok(isClosed)
  for (const upstream of upstreams) assert.equal(upstream.phase, 'over')
  const { row } = x
  const [answered, ...others] = upstreams.filter(({ status }) => status === 200)
  if (answered?.isGood && others.length === 0 && row !== null && !isDisturbed)
    assert.match(row.end, /^(completed|client_gone)$/, 'an answer that is good and whole is charged as such')
  if (row?.end === 'completed' && row.basis === 'reported' && row.protocol !== 'images')
    assert.deepEqual({ input: row.input, output: row.output }, USAGE, 'what was reported is charged')
  if (trace.at(-1) !== 'end' || relay.response.isMuted) return
  if (x.protocol === 'images' && relay.asking.answer.reading?.links) checkPictures(scene)
  else if (relay.asking.answer.translated === null) checkWhole(reply, upstreams, x)
  else checkTranslated(scene)
}

/** The client of a translated answer got all words of one upstream, and none of another one. */
function checkTranslated({ reply, upstreams }: Scene): void {
  assert.equal(reply.ends, 1, 'the client is told the end')
  const told = wordsIn(Buffer.concat(reply.body).toString('latin1'))
  const said = upstreams.filter(({ status }) => status === 200).map(({ words }) => words)
  assert.ok(said.includes(told), `the client got ${told} words, and upstreams said ${said}`)
}

interface Pictures {
  data: { b64_json?: string | null; url?: string; revised_prompt: string }[]
}

/** Each picture stands in the answer as it came, or as a link to all of it. */
function checkPictures({ reply, upstreams, elsewhere }: Scene): void {
  assert.equal(reply.ends, 1, 'the client is told the end')
  const told = Buffer.concat(reply.body).toString()
  const asCame = (text: string): string => {
    const { data, ...rest } = JSON.parse(text) as Pictures
    const pictures = data.map(({ url, ...one }) => {
      const kept = url === undefined ? undefined : elsewhere.kept.get(url.split('/').at(-1) as string)
      return { b64_json: one.b64_json ?? kept?.toString('base64') ?? null, revised_prompt: one.revised_prompt }
    })
    return JSON.stringify({ ...rest, data: pictures })
  }
  const said = upstreams.filter(({ status }) => status === 200).map(({ saidText }) => saidText)
  if (!said.some(isJson)) assert.ok(!told.includes('"url"') || !isJson(told), 'what is no document has no links')
  else
    assert.ok(
      said.some(text => isJson(text) && asCame(text) === asCame(told)),
      `${told} of ${said}`,
    )
}

function isJson(text: string): boolean {
  try {
    return 'data' in (JSON.parse(text) as object)
  } catch {
    return false
  }
}

/** The client got the bytes of one upstream as they came, and they end where its answer does. */
function checkWhole(reply: FakeReply, upstreams: readonly FakeUpstream[], x: Exchange): void {
  assert.equal(reply.ends, 1, 'the client is told the end')
  const told = Buffer.concat(reply.body).toString('latin1')
  const early = x.relay !== null && (x.relay as Relay).response.early
  const text = early ? told.replace(EMPTY_LINES, '') : told
  const all = upstreams.map(({ chunks, said }) => Buffer.concat(chunks.slice(0, said)).toString('latin1'))
  const plain = text.replaceAll(KEEP_ALIVE, '')
  const isOf = (said: string) => said.startsWith(text) || said.replaceAll(KEEP_ALIVE, '').startsWith(plain)
  assert.ok(all.some(isOf), `the client got what an upstream said: ${JSON.stringify(text)} of ${JSON.stringify(all)}`)
  if (x.row?.end === 'completed' && upstreams.length === 1 && x.row.basis === 'reported')
    assert.equal(
      all.some(said => said.length === 0),
      text.length === 0,
    )
}
