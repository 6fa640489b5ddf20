/**
 * The state machine of a relay, as one table: from the first attempt to the end of the books. A relay has one state, and moves through it
 * by `go` alone, which its parts call.
 * docs/architecture.md draws the same table, and a test compares the two.
 *
 * Whether the client is still there is no state: an upstream whose client has left is read on through the same states, and
 * nobody is told anything. Nor is it a state that the answer was charged; that happens once, on the way to `keeping` or out
 * of it. What happens in a state that the table does not allow is a bug of ours, so it fails the exchange.
 */
import { invariant } from '../../base/assert.ts'

export const STATES = {
  asking: 'an upstream is asked, and the head of no answer has come',
  judging: 'the head of an answer has come; while its first bytes are not judged, another upstream may still be asked',
  relaying: 'the bytes of the answer go to the client as they come',
  waiting: 'the upstream is held up, by a slow client, for money, or by a decoder or a disk that is behind',
  keeping: 'the end of the answer has come or is in sight, and the client may see it when the charge is kept',
  ending: 'the upstream is done with and the books are closed; the client takes what is left for it',
} as const

export type State = keyof typeof STATES

interface Move {
  from: readonly State[]
  /** null = the state stays what it is. */
  to: State | null
  when: string
}

const OPEN = ['asking', 'judging', 'relaying', 'waiting', 'keeping'] as const

const move = (from: readonly State[], to: State | null, when: string): Move => ({ from, to, when })

export const TRANSITIONS = {
  ask: move(
    ['asking', 'judging'],
    'asking',
    'an upstream is asked: the first one, the next one, or a second one beside it',
  ),
  hear: move(['asking'], 'judging', 'the head of an answer has come'),
  accept: move(
    ['judging'],
    'relaying',
    'its first bytes have come, and they are an answer or nobody else is left to ask',
  ),
  wait: move(['relaying'], 'waiting', 'the client is slow, the hold has to grow, or the decoder or the disk is behind'),
  resume: move(['waiting'], 'relaying', 'nothing of that is left to wait for'),
  keep: move(
    ['judging', 'relaying', 'waiting', 'keeping'],
    'keeping',
    'the last event has come, or the upstream has ended its answer or broken off',
  ),
  leave: move(OPEN, null, 'the client has left: the upstream is read on for its usage, and nobody is told anything'),
  end: move(['keeping'], 'ending', 'the charge is kept, and the client is told the end'),
  breakOff: move(
    ['keeping'],
    'ending',
    'the upstream broke off, or sent more than its answer: the client is told so or cut off, and never sees a clean end',
  ),
  takeBack: move(
    ['keeping'],
    'ending',
    'the upstream broke off, and nothing has reached the client: the client is refused',
  ),
  giveUp: move(
    ['asking', 'judging'],
    'ending',
    'no upstream gave an answer that may be passed on: the client is refused',
  ),
  stop: move(
    ['relaying', 'waiting', 'keeping'],
    'ending',
    'the money has ended: the upstream is closed, and a client that is still there is told so as the protocol does',
  ),
  estimate: move(OPEN, 'ending', 'no upstream counted what was asked to be counted: the client is given an estimate'),
  cut: move(OPEN, 'ending', 'the client has left, and the upstream may not be read on, or not any longer'),
  abandon: move(OPEN, 'ending', 'a fault of ours, or the process ends'),
} as const satisfies Record<string, Move>

export type Transition = keyof typeof TRANSITIONS

export class RelayState {
  now: State = 'asking'

  /** Throws when there is no such transition from this state. */
  go(transition: Transition): void {
    this.now = after(this.now, transition)
  }

  /** The upstream is done with, and the books are closed. */
  get isEnding(): boolean {
    return this.now === 'ending'
  }
}

/** Where a transition leads. Throws when there is no such transition from that state. */
export function after(state: State, name: Transition): State {
  const { from, to }: Move = TRANSITIONS[name]
  invariant(from.includes(state), `a relay that is ${state} cannot ${name}`)
  return to ?? state
}
