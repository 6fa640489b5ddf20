/**
 * A small model of a relay: what may be said of it from outside, by what has happened to it so far. It knows nothing of how the
 * relay does what it does, and throws where it does something else.
 */
import assert from 'node:assert/strict'
import type { Exchange } from '../../../lib/exchange/record/exchange.ts'
import type { Relay } from '../../../lib/exchange/relay/relay.ts'
import type { Transition } from '../../../lib/exchange/relay/states.ts'
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
  upstreams: FakeUpstream[]
  /** Transitions so far. */
  trace: Transition[]
  /** The client's connection is closed. */
  isClosed: boolean
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
export function checkOver({ x, relay, reply, ledger, upstreams, trace, isClosed }: Scene): void {
  assert.ok(x.finished, 'it is finished')
  assert.equal(relay.state.now, 'ending')
  assert.equal(ledger.open, 0, 'no hold is left')
  assert.equal(ledger.rows.length + ledger.voided, x.hold === null ? 0 : 1, 'the hold was resolved')
  assert.ok(isClosed)
  for (const upstream of upstreams) assert.equal(upstream.phase, 'over')
  if (trace.at(-1) === 'end' && !relay.response.isMuted) checkWhole(reply, upstreams, x)
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
